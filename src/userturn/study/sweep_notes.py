"""Notes of sweeps on which answers, cells and scores have all their requests in the journal.

A sweep is a job on a GPU. Tables that a note vouches for are collected without one, even if another
part of the same model is still to be swept. A note is only believed while the model's description
is the same and no journal file that it names has become shorter.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from shutil import rmtree
from typing import Any

from userturn.errors import UserError
from userturn.storage.files import read_identity, write_json
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.study.model_description import present_description, request_identity

AFTER_OTHERS, FINISHED, UNSENT = "after_others", "finished", "unsent.json"  # in folders of sweeps


class LostRecordsError(UserError):
    """Requests of a plan that no journal has a record of."""


class LostPlansError(LostRecordsError):
    """Requests whose plan is not in its folder, or is damaged."""

    def __init__(self, folder: Path) -> None:
        """Take the plan's folder."""
        super().__init__(
            f"the plan of these requests is not in '{folder}', or is damaged; run the same command "
            "again, it plans them again"
        )
        self.folder = folder


def sweeps_folder(grid: Grid, model: str, after_others: bool = False) -> Path:
    """Return the folder of the markers and notes of a model's sweeps.

    Sweeps after other models' sweeps have their own folder, since each file has one job's record.
    """
    return grid.results / "sweeps" / model / (AFTER_OTHERS if after_others else "")


def must_send(grid: Grid, model: str) -> set[str]:
    """Return the identities of tables with requests that, as noted, unexpectedly lack a reply."""
    identities: set[str] = set()
    for after_others in (False, True):
        path = sweeps_folder(grid, model, after_others) / UNSENT
        with suppress(OSError, ValueError, LookupError, TypeError):
            identities.update(map(str, json.loads(path.read_text())["pending"]))
    return identities


def note_unsent(
    grid: Grid, model: str, pending: Collection[str], after_others: bool = False
) -> None:
    """Note the identities whose requests a sweep must send, or remove the note without any."""
    path = sweeps_folder(grid, model, after_others) / UNSENT
    if pending:
        write_json({"pending": sorted(pending)}, path, fingerprint(sorted(pending)))
    else:
        path.unlink(missing_ok=True)


def _sizes(folder: Path) -> dict[str, int]:
    """Return the size of each file of a journal, in bytes."""
    return {path.name: path.stat().st_size for path in sorted(folder.glob("[!.]*.jsonl"))}


def _read_note(path: Path, described_as: str) -> dict[str, Any]:
    """Return a note, empty if it does not exist or the model's description has changed."""
    try:
        note: dict[str, Any] = json.loads(path.read_text())
        is_whole = note["finished"].keys() <= note["journals"].keys()
        if is_whole and note["described_as"] == described_as:
            return note
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        pass  # not there, or damaged: the sweep looks in the journal
    return {"finished": {}, "journals": {}}


def note_finished(
    grid: Grid,
    model: str,
    shard: str,
    finished: Mapping[str, Collection[str]],
    described_as: str,
    after_others: bool = False,
) -> None:
    """Add the finished identities to a shard's note, which only the holder of the lease writes.

    Args:
        grid: grid of the study.
        model: name of the model.
        shard: name of the shard, such as 1of1.
        finished: by dataset, the identities of answers, cells and scores.
        described_as: fingerprint of what identifies the model's requests.
        after_others: whether the sweep is one after other models'.
    """
    path = sweeps_folder(grid, model, after_others) / FINISHED / f"{shard}.json"
    note = _read_note(path, described_as)
    lengths = {*_lengths(note), grid.models[model]["max_model_len"]}
    for dataset, identities in finished.items():
        first_name = grid.places.dataset_name(dataset)
        note["finished"][first_name] = sorted({*note["finished"].get(first_name, ()), *identities})
        note["journals"][first_name] = _sizes(grid.journal_folder(model, dataset))
    if grid.places.model_name(model) != model:
        note["place"] = grid.places.model_name(model)
    about = {"described_as": described_as, "max_model_len": sorted(lengths)}
    write_json(note | about, path, described_as)


def _believed(grid: Grid, model: str, note: Mapping[str, Any]) -> Iterator[str]:
    journals = grid.results / "journal" / grid.places.model_name(model)
    for first_name, identities in note["finished"].items():
        now = _sizes(journals / first_name)
        if all(now.get(name, 0) >= size for name, size in note["journals"][first_name].items()):
            yield from identities


def _notes(grid: Grid, model: str) -> Iterator[Path]:
    """Yield the paths of the notes of all a model's shards, also under its earlier name."""
    for name in sorted({model, grid.places.model_name(model)}):
        for after_others in (False, True):
            folder = sweeps_folder(grid, name, after_others) / FINISHED
            yield from sorted(folder.glob("[1-9]*of[1-9]*.json"))


def _lengths(note: Mapping[str, Any]) -> set[int]:
    """Return the values of `max_model_len` under which requests of a note finished."""
    lengths = note.get("max_model_len")
    return (
        {length for length in lengths if type(length) is int}
        if isinstance(lengths, list)
        else set()
    )


def finished_by_shard(grid: Grid, model: str) -> dict[str, set[str]]:
    """Return by shard the identities of a model's answers, cells and scores that notes vouch for.

    Without a description of the model there are none.
    """
    try:
        identity = request_identity(grid, model, present_description(grid, model))
    except (OSError, ValueError, LookupError):
        return {}
    described_as = fingerprint(identity)
    of_shard: defaultdict[str, set[str]] = defaultdict(set)
    for path in _notes(grid, model):
        of_shard[path.stem].update(_believed(grid, model, _read_note(path, described_as)))
    return of_shard


def finished_identities(grid: Grid, model: str) -> set[str]:
    """Return the identities of a model's answers, cells and scores that need no sweep.

    An identity counts if it is in the notes of all shards, of the present or an earlier number of
    shards.
    """
    of_shard = finished_by_shard(grid, model)
    by_all = [set.intersection(*(of_shard[n] for n in names)) for names in whole_splits(of_shard)]
    return set().union(*by_all)


def written_plans(folder: Path) -> list[Path]:
    """Return the paths of the plans of all shards.

    Raises:
        LostPlansError: there is no plan, or one cannot be read.
    """
    paths = sorted(folder.glob("[!.]*.parquet"))
    if not paths or any(read_identity(path) != folder.name for path in paths):
        raise LostPlansError(folder)
    return paths


@contextmanager
def swept_again_if_lost(grid: Grid, model: str) -> Iterator[None]:
    """Delete a model's markers if plans or records are missing inside the block.

    Damaged plans are deleted, too. If records are missing, so are the model's notes, so that the
    next run sweeps again.
    """
    try:
        yield
    except LostRecordsError as error:
        if isinstance(error, LostPlansError):
            rmtree(error.folder, ignore_errors=True)
        names = model, grid.places.model_name(model)
        for name, after_others, shard in product(names, (False, True), grid.shards(model)):
            (sweeps_folder(grid, name, after_others) / f"{shard}.json").unlink(missing_ok=True)
        if not isinstance(error, LostPlansError):
            for note in _notes(grid, model):
                note.unlink(missing_ok=True)
        raise


def whole_splits(shards: Iterable[str]) -> list[list[str]]:
    """Return the shards of each split that is complete, such as 1of2 and 2of2."""
    by_number: defaultdict[str, list[str]] = defaultdict(list)
    for shard in shards:
        by_number[shard.partition("of")[2]].append(shard)
    splits = by_number.values()
    return [n for n in splits if {*n} == {f"{i}of{len(n)}" for i in range(1, len(n) + 1)}]
