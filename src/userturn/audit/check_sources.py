"""Do datasets and people's labels follow from their source files, if those files are available?

A file may be inside the project or archive around the results, or in the hub's cache. Only a file
with the content in the study's record is read: any other is not the study's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from userturn.audit.findings import Finding, Note
from userturn.audit.pair import compared, place_of
from userturn.datasets.fetch import at_hand, complete, shaping
from userturn.datasets.prepare import items_table
from userturn.humans.import_labels import annotations_table, read_annotations
from userturn.storage.hashing import file_sha256, fingerprint
from userturn.study.grid import Grid
from userturn.study.inputs import RUBRIC
from userturn.study.record import StudyRecord


def check_sources(
    results: Path, record: StudyRecord, broken: frozenset[str]
) -> Iterator[Finding | Note]:
    """Prepare datasets and import labels again, and compare.

    Args:
        results: results folder of a study.
        record: record of the study.
        broken: artifacts that were already reported as missing or altered.
    """
    grid = record.grid(results.resolve())
    with chdir(results.parent):
        for name, entry in sorted((grid.datasets | grid.human_datasets).items()):
            yield from _dataset(record, grid, name, entry, broken)
        for name in sorted(record.contents.annotations):
            yield from _labels(record, grid, name, broken)


def _dataset(
    record: StudyRecord, grid: Grid, name: str, entry: Mapping[str, Any], broken: frozenset[str]
) -> Iterator[Finding | Note]:
    path = f"results/datasets/{name}.parquet"
    if path in broken:
        return
    try:
        settings = complete(entry, record.config["seed"])
        is_same = fingerprint(shaping(settings)) == record.contents.datasets[name]
        file = at_hand(settings) if is_same and _is_inside(entry) else None
    except (OSError, KeyError):
        file = None
    if file is None:
        text = "not prepared again: its file with the study's content is not available here"
        yield Note("sources", path, text)
        return
    with redirect_stdout(None):  # preparing prints how many rows it read
        yield from _compare(grid, path, lambda: items_table(settings, file), ["item"])


def _is_inside(entry: Mapping[str, Any]) -> bool:
    """Return whether a dataset's file is the hub's, or inside the folder around the results."""
    return "hub" in entry or Path(entry["file"]).resolve().is_relative_to(Path.cwd().resolve())


def _labels(
    record: StudyRecord, grid: Grid, name: str, broken: frozenset[str]
) -> Iterator[Finding | Note]:
    path, key = (f"results/humans/{name}/{kind}.parquet" for kind in ("annotations", "key"))
    if not broken.isdisjoint((path, key)):
        return
    files = record.contents.annotations[name]
    if not all(_has(file, digest) for file, digest in files.items()):
        text = "labels not imported again: their files with the study's content are not here"
        yield Note("sources", path, text)
        return

    def imported() -> pl.DataFrame:
        turns = pl.read_parquet(place_of(grid, key))
        labels = yaml.safe_load(record.contents.texts[RUBRIC])["labels"]
        return annotations_table(read_annotations(list(files), turns, labels, name).rows, turns)

    yield from _compare(grid, path, imported, ["annotator", "id"])


def _has(file: str, digest: str) -> bool:
    """Return whether a file inside the folder around the results has the content of a digest."""
    path = Path(file)
    inside = path.resolve().is_relative_to(Path.cwd().resolve())
    return inside and path.is_file() and file_sha256(path) == digest


def _compare(
    grid: Grid, path: str, make: Callable[[], pl.DataFrame], keys: Sequence[str]
) -> Iterator[Finding]:
    """Compare an artifact with its recomputation from its source."""
    return compared(
        "sources", path, make, lambda: pl.read_parquet(place_of(grid, path)), keys, "its source"
    )
