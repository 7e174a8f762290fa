"""Do datasets, local models and trainings follow from their sources, if those are available?

A file may be inside the project or archive around the results, or in the hub's cache. A file is
read only if it has the content in the study's record, since any other is not the study's.
"""

from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from userturn.audit.findings import Finding, Item, Note, not_compared
from userturn.audit.pair import artifact_path, compared
from userturn.config.entries import paths_of
from userturn.datasets.fetch import complete, shaping
from userturn.datasets.prepare import files_at_hand, items_table
from userturn.errors import UserError
from userturn.models.fetch import PACKAGE, is_local, local_path
from userturn.models.model_files import (
    changed_weights,
    differing,
    files_of_folder,
    harmless_changes,
)
from userturn.storage.files import read_json
from userturn.storage.hashing import file_sha256, fingerprint
from userturn.study.grid import Grid
from userturn.study.record import StudyRecord
from userturn.training.checkpoints import last_checkpoint, log_of
from userturn.training.kept_change import MOST_LOST
from userturn.workflow.study_files import FAULTS, Files


def check_sources(results: Path, record: StudyRecord, broken: frozenset[str]) -> Iterator[Item]:
    """Prepare datasets again and compare them, and compare local models with their files."""
    grid = record.grid(results.resolve())
    with chdir(results.parent):
        for name, entry in grid.prepared_datasets.items():
            yield from _dataset(record, grid, name, grid.opened(entry), broken)
        for name in grid.models:
            yield from _model(grid, name, broken)


def _dataset(
    record: StudyRecord, grid: Grid, name: str, entry: Mapping[str, Any], broken: frozenset[str]
) -> Iterator[Item]:
    path = f"results/datasets/{name}.parquet"
    if path in broken:
        return
    try:
        settings = complete(entry, record.config, record.contents.ids)
        is_same = fingerprint(shaping(settings)) == record.contents.datasets[name]
        is_near = "hub" in entry or all(_is_inside(Path(path)) for path in paths_of(entry))
        files = files_at_hand(settings) if is_same and is_near else None
    except (OSError, KeyError, UserError):
        files = None
    if files is None:
        yield not_compared(path, "its file with the study's content is not here")
        return
    there = partial(pl.read_parquet, artifact_path(grid, path))
    with redirect_stdout(None):  # preparing prints how many rows it read
        make = partial(items_table, settings, files)
        yield from compared("sources", path, make, there, ["item"], "its source")


def _is_inside(path: Path) -> bool:
    """Return whether a path leads into the folder around the results, where a check runs."""
    return path.resolve().is_relative_to(Path.cwd().resolve())


def _model(grid: Grid, name: str, broken: frozenset[str]) -> Iterator[Item]:
    path = f"results/models/{name}.json"
    if path in broken:
        return
    try:
        description = read_json(artifact_path(grid, path))
        source = str(description.get("source"))
        away = _why_away(source) if is_local(source) else None
        if away is not None:
            yield Note("sources", path, f"not compared with the model: {away}")
        elif is_local(source):
            yield from _changed_model(path, name, source, description)
    except UserError:
        return  # found with the settings
    except PermissionError as error:
        text = f"not compared with the model: you may not read {error.filename}"
        yield Note("sources", path, text)


def _why_away(source: str) -> str | None:
    """Return why a local model is not available, or None if it is.

    A folder of that name elsewhere than beside the results or in a package might be another model.
    """
    try:
        path = local_path(source)
    except UserError:
        return "its package is not installed"
    is_near = path is not None and path.exists() and _is_inside(path)
    is_here = source.startswith(PACKAGE) or is_near
    return None if is_here else "it is not beside the results"


def _changed_model(
    path: str, name: str, source: str, description: Mapping[str, Any]
) -> Iterator[Item]:
    try:
        changed = changed_weights(source, description.get("weights_sha256", {}))
        described = description.get("files", {}).items()
        then = {name: file for name, file in described if not name.startswith(".")}  # as now
        now = files_of_folder(source)
        if changed is None and then and now:
            yield from [Note("sources", path, text) for text in harmless_changes(then, now)]
            changed = next(differing(then, now), None)
    except PermissionError:
        raise
    except FAULTS as error:
        changed = "the hashes of its files", type(error).__name__
    if changed is None:
        return
    if source.startswith(PACKAGE):  # of another version, perhaps: no fault of the study
        text = "the package here holds another model: {} then, {} now".format(*changed)
        yield Note("sources", path, text)
        return
    fix = f"put the model back, or name the changed one in the config: {name} is another now"
    yield Finding("sources", path, *changed, fix)


def is_at_hand(file: str, digest: str) -> bool:
    """Return whether a file is inside the folder around the results and has a digest."""
    path = Path(file)
    try:
        return _is_inside(path) and path.is_file() and file_sha256(path) == digest
    except OSError:  # nobody is accused of what the auditor may not read
        return False


LEARNT_FROM = ("training", "base_identity", "data_sha256")  # they name the folder of checkpoints


def check_training(files: Files, grid: Grid) -> Iterator[Finding]:
    """Yield records of trainings that contradict their inputs, or whose model lost too much."""
    for model in grid.contents.recipes:
        path = f"results/training/{model}/training.json"
        if path not in files.makers or not files.at(path).is_file():
            continue
        lost = 0.0
        try:
            content = read_json(files.at(path))
            wrong = _wrong(files, grid, model, content)
            lost = float(content.get("kept_change", {}).get("lost") or 0)
        except FAULTS as error:
            wrong = f"not the record of a training ({type(error).__name__})"
        if wrong is not None:
            expected = "what recipe, data, base and last checkpoint say"
            yield Finding("training", path, expected, wrong)
        if not lost <= MOST_LOST:
            expected = f"a swept model that has lost at most {MOST_LOST:.0%} of what was trained"
            yield Finding("training", path, expected, f"{lost:.0%} lost, in its log-probabilities")


def _wrong(files: Files, grid: Grid, model: str, content: dict[str, Any]) -> str | None:
    """Return what is wrong in a training's record, by the inputs in this copy, or None."""
    base = grid.entries[model]["base"]
    if content["artifact"]["identity"] == grid.training_identity(model):
        recorded = {key: content[key] for key in ("base", "recipe", "training")}
        identity = content["artifact"]["identity"]
        if recorded != {"base": base, "recipe": grid.contents.recipes[model], "training": identity}:
            return "another base, recipe or training than the configuration's"
        if (described := files.at(f"results/models/{base}.json")).is_file():
            says = read_json(described)
            about = (content["base_identity"], content["base_revision"])
            if about != (says["identity"], says["revision"]):
                return f"another base than {base} is described as"
    return _wrong_file(files, model, content)


def _wrong_file(files: Files, model: str, content: dict[str, Any]) -> str | None:
    data = f"results/training/{model}/data.parquet"
    if files.at(data).is_file():
        n_rows = pl.read_parquet(files.at(data)).height
        if (content["data_sha256"], content["n_conversations"]) != (files.hashes[data], n_rows):
            return f"other data than {data}"
    learnt_from = fingerprint({key: content[key] for key in LEARNT_FROM})
    folder = f"results/checkpoints/{model}/"
    trained = {name.split("/")[3] for name in files.makers if name.startswith(folder)}
    if trained and learnt_from not in trained:
        return "no checkpoint of such a training"
    _, last = last_checkpoint(files.results / "checkpoints" / model / learnt_from)
    if last is None or content["log"] == log_of(last):
        return None
    return "another log than its last checkpoint has"
