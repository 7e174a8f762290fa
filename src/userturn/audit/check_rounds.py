"""Are the turns of a round for people those that its samples give, shown as the models wrote them?

A round stays as it was drawn, so it is compared only while its samples and turns are unchanged.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from shlex import quote

import polars as pl

from userturn.audit.findings import COMPARED, Finding, Item, Status, Wrong, difference, not_compared
from userturn.humans.blinding import stop_tokens
from userturn.humans.pairs import PER_CELL, round_of_pairs
from userturn.humans.rounds import (
    ASKED_FIRST,
    KEY_SCHEMA,
    SAMPLE_SCHEMA,
    TURNS_SCHEMA,
    asked_first,
    conversations,
    keyed,
    shown,
)
from userturn.humans.sample import BY_SETTINGS, mark_drawn
from userturn.storage.hashing import file_sha256, short_hash
from userturn.storage.table_files import CELL_KEYS, STRATUM_KEYS, Schema, read_tables
from userturn.study.cells import files_of
from userturn.workflow.humans import HumanGrid, PairGrid
from userturn.workflow.study_files import FAULTS, Files

ROUND_FILES = ("/key.parquet", "/items.parquet")  # of a round; a copy stays from the draw
KINDS = ("datasets", "models")
OTHER_LIMITS = "`judge_card` has other limits than when its order was decided"
NOT_COMPARED = "what it was drawn from has changed since, or is not in this copy"


def check_rounds(
    files: Files, humans: HumanGrid, pairs: PairGrid, broken: frozenset[str]
) -> Iterator[Item]:
    """Yield the faults in the keys of rounds, and in what annotators saw."""
    for name in humans.rounds:
        inputs = _inputs_of(files, "draw_annotation_round", name)
        yield from _misplaced_samples(files, humans, inputs)
        wrong = (partial(_wrong_key, files, humans, name), partial(_wrong_items, files, name))
        findings = [*_redraw(files, f"results/humans/{name}", inputs, broken, *wrong)]
        yield from findings
        if findings and all(item == Status(item.artifact, COMPARED) for item in findings):
            yield from _order(files, humans, name, sorted(inputs))
    for name in pairs.rounds:
        inputs = _inputs_of(files, "draw_pairs", name)
        of_pairs = (partial(_wrong_pairs, files, pairs, name, kind) for kind in ("key", "items"))
        yield from _redraw(files, f"results/pairs/{name}", inputs, broken, *of_pairs)


def check_round_copies(files: Files) -> Iterator[Finding]:
    """Yield findings on copies in `results/drawn` that are missing or differ from their rounds."""
    rounds = [path for path in files.noted if path.endswith(ROUND_FILES)]
    for artifact in sorted(rounds):
        copy = re.sub("^results/(humans|pairs)/", "results/drawn/", artifact)
        there = files.at(copy).is_file()
        digest = file_sha256(files.at(copy)) if there else files.left_out.get(copy)
        if digest is None and _is_empty(files, artifact):
            continue  # not kept: it is drawn when there are turns for it
        if artifact in files.hashes and digest != files.noted[artifact]:
            yield Finding(
                "hashes",
                copy,
                f"sha256 {short_hash(files.noted[artifact])}, as {artifact}",
                "no such file" if digest is None else f"sha256 {short_hash(digest)}",
                f"mkdir -p {quote(str(PurePosixPath(copy).parent))} && "
                f"cp {quote(artifact)} {quote(copy)}",
            )


def _inputs_of(files: Files, rule: str, name: str) -> dict[str, str]:
    """Return the hashes of the inputs of a round by path, or none if they are unknown."""
    record = files.records.get(f"results/provenance/{rule}/{name}.json")
    return dict(record["inputs"]) if record else {}


def _is_empty(files: Files, path: str) -> bool:
    try:
        return pl.scan_parquet(files.at(path)).head(1).collect().is_empty()
    except FAULTS:
        return False


def _redraw(
    files: Files,
    folder: str,
    inputs: Mapping[str, str],
    broken: frozenset[str],
    wrong_key: Callable[[Sequence[str]], Wrong | None],
    wrong_items: Callable[[Sequence[str]], Wrong | None],
) -> Iterator[Item]:
    """Draw a round again if its inputs are unchanged, and yield what differs."""
    key, items = (f"{folder}/{kind}.parquet" for kind in ("key", "items"))
    if not broken.isdisjoint((key, items)):
        return
    if not inputs and _is_empty(files, key):
        return  # the study has no cell for it
    there = {path: files.hashes.get(path) for path in inputs if files.at(path).is_file()}
    if not inputs or there != inputs:
        yield from (not_compared(path, NOT_COMPARED) for path in (key, items))
        return
    try:
        wrong = wrong_key(sorted(inputs))
        artifact = key if wrong is not None else items
        wrong = wrong or wrong_items(sorted(inputs))
    except FAULTS as error:
        artifact, wrong = key, ("to follow from its samples", type(error).__name__)
    yield from (Status(path, COMPARED) for path in (key, items))
    if wrong is not None:
        yield Finding("samples", artifact, *wrong, _restored(folder.rpartition("/")[2]))


def _misplaced_samples(
    files: Files, humans: HumanGrid, inputs: Collection[str]
) -> Iterator[Finding]:
    """Yield the samples of a round whose rows belong to other cells than their path."""
    for cell in humans.cells:
        (path,) = files_of([cell], "human_sample.parquet")
        if path not in inputs or not files.at(path).is_file():
            continue
        own = cell._asdict() | {"temperature": humans.grid.temperatures[cell.temperature]}
        with suppress(*FAULTS):  # found altered
            cells = pl.read_parquet(files.at(path), columns=CELL_KEYS).unique().to_dicts()
            if cells not in ([], [own]):
                yield Finding("samples", path, "turns of its cell", "turns of another")


def _read(files: Files, paths: Sequence[str], ending: str, schema: Schema) -> pl.DataFrame:
    return read_tables([str(files.at(path)) for path in paths if path.endswith(ending)], schema)


def _wrong_key(files: Files, humans: HumanGrid, name: str, inputs: Sequence[str]) -> Wrong | None:
    """Compare a round's key with the turns that come first in their strata.

    Model families, and the number of turns per stratum beyond its settings, are read from the key,
    since the settings may have changed.
    """
    path = f"results/humans/{name}/key.parquet"
    shares = pl.read_parquet_metadata(files.at(path)).get("allocation") != BY_SETTINGS
    key = pl.read_parquet(files.at(path))
    frame = _read(files, inputs, "/human_sample.parquet", SAMPLE_SCHEMA)
    before = _read(files, _keys(inputs), "", KEY_SCHEMA)["key"].to_list()
    n_drawn = key.group_by(STRATUM_KEYS).agg(n=pl.col("n_drawn").max())
    families = dict(key.select("model", "family").iter_rows())
    least = pl.lit(0) if shares else pl.col("n_drawn")
    placed = frame.join(n_drawn, on=STRATUM_KEYS, how="left", maintain_order="left")
    least_n = pl.max_horizontal(least, pl.col("n").fill_null(0))
    turns = mark_drawn(placed, least_n).filter("is_drawn", ~pl.col("key").is_in(before))
    family = pl.col("model").replace_strict(families, return_dtype=pl.String)
    seed = humans.grid.config["seed"]
    remade = keyed(turns.with_columns(family=family), name, humans.judge, seed)
    return difference(remade, key, ["id"])


def _wrong_items(files: Files, name: str, inputs: Sequence[str]) -> Wrong | None:
    key, items = (f"results/humans/{name}/{kind}.parquet" for kind in ("key", "items"))
    of_round = _read(files, [key], "", KEY_SCHEMA)
    turns = _read(files, inputs, "/user_turns.parquet", TURNS_SCHEMA)
    folders = {kind: [p for p in inputs if p.startswith(f"results/{kind}/")] for kind in KINDS}
    datasets, models = ([str(files.at(p)) for p in folders[kind]] for kind in KINDS)
    expected_items = shown(of_round, turns, conversations(datasets), stop_tokens(models))
    return difference(
        expected_items.sort("id"), pl.read_parquet(files.at(items)).sort("id"), ["id"]
    )


def _order(files: Files, humans: HumanGrid, name: str, inputs: Sequence[str]) -> Iterator[Item]:
    """Compare the order in which people are asked, which by default is the order of ids."""
    key, items = (f"results/humans/{name}/{kind}.parquet" for kind in ("key", "items"))
    of_round, before = (_read(files, paths, "", KEY_SCHEMA) for paths in ([key], _keys(inputs)))
    ordered, n_first = asked_first(of_round, before, humans.grid.config["judge_card"])
    noted = pl.read_parquet_metadata(files.at(items)).get(ASKED_FIRST)
    if noted not in (None, str(n_first)):
        yield not_compared(items, OTHER_LIMITS)
        return
    order = (ordered if noted else of_round.sort("id"))["id"].to_list()
    if pl.read_parquet(files.at(items))["id"].to_list() != order:
        expected = "turns in the order in which people are asked for them"
        yield Finding("samples", items, expected, "another order", _restored(name))


def _keys(inputs: Sequence[str]) -> list[str]:
    return [path for path in inputs if path.endswith("/key.parquet")]


def _restored(name: str) -> str:
    return f"restore results/drawn/{name} from a copy: a round is drawn once"


def _wrong_pairs(
    files: Files, pairs: PairGrid, name: str, kind: str, inputs: Sequence[str]
) -> Wrong | None:
    """Compare a key of pairs, or what annotators saw, with the round drawn again.

    The number of pairs per cell is taken from the key, since the settings may have changed since.
    """
    folder = f"results/pairs/{name}"
    n = int(pl.read_parquet_metadata(files.at(f"{folder}/key.parquet"))[PER_CELL])
    inputs_by_part = (
        [str(files.at(path)) for path in inputs if path.endswith(part) or path.startswith(part)]
        for part in ("/user_turns.parquet", "results/datasets/", "results/models/", "/key.parquet")
    )
    pairs_again = round_of_pairs(name, n, pairs.grid.config["seed"], *inputs_by_part)
    again = pairs_again.key if kind == "key" else pairs_again.items
    return difference(again, pl.read_parquet(files.at(f"{folder}/{kind}.parquet")), ["id"])
