"""Private rows that must not be exported, files that quote them, and the turns that may leave.

Files of such a dataset are recognised by their paths. As a second check, no file is exported that
contains a passage of one of its conversations, wherever it came from.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from userturn.config.entries import paths_of as paths_of_files
from userturn.config.entries import private_mark
from userturn.config.formats import format_of, model_of
from userturn.export.secrets import Texts
from userturn.judges.verdict import GENUINE
from userturn.storage.table_files import CELL_KEYS, TURN_KEYS
from userturn.study.cells import Cell
from userturn.study.grid import Grid

SHORTEST, LONGEST = 24, 60  # characters of a stretch
STRETCH = re.compile(f"[A-Za-z0-9 ,.;:()-]{{{SHORTEST},{LONGEST}}}")  # no format escapes these
STRETCHES = 3  # per item
COUNTS = frozenset(("human_sample.parquet",))  # and ids, of any dataset
SHOWN = frozenset(("items.parquet", "annotations.parquet", "task.html", "tasks.json"))
ROUNDS = ("humans", "pairs", "drawn")  # folders of the results with a folder for each round
QUOTING = ("conversation", "turn", "rationale")


def withheld_datasets(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the datasets whose rows must not be exported, each with the reason."""
    marked = {name: private_mark(entry) for name, entry in sorted(config["datasets"].items())}
    return {
        name: f"rows of the dataset {name}, marked `{mark}`"
        for name, mark in marked.items()
        if mark
    }


def text_of(rows: str) -> str:
    """Return the reason to withhold a file that quotes rows of a dataset."""
    return f"text of {rows}"


def _quoted_datasets(path_to_table: Path) -> set[str]:
    """Return the datasets whose conversations, turns or rationales a table quotes."""
    columns = [name for name in QUOTING if name in pl.read_parquet_schema(path_to_table)]
    if not columns:
        return set()
    rows = pl.read_parquet(path_to_table, columns=["dataset", *columns])
    return set(rows.filter(pl.any_horizontal(pl.col(columns).is_not_null()))["dataset"])


class Withholding:
    """Decides for each file of a study whether it may be exported.

    Attributes:
        datasets: the datasets whose rows must not be exported, each with the reason.
    """

    def __init__(self, config: Mapping[str, Any], results: Path) -> None:
        """Take the configuration of a study and its results."""
        self.datasets = withheld_datasets(config)
        self._rounds = self._rounds_with_rows(results)
        self._paths = self._local_files(config, results) | self._quoting_tables(results)
        self._stretches = {
            stretch: name for name in self.datasets for stretch in stretches(results, name)
        }

    def _local_files(self, config: Mapping[str, Any], results: Path) -> dict[str, str]:
        """Return the datasets' own files by their paths in the project, however they are named."""
        project = results.resolve().parent
        return {
            os.path.relpath((project / path).resolve(), project): why
            for name, why in self.datasets.items()
            for path in paths_of_files(config["datasets"][name])
        }

    def _rounds_with_rows(self, results: Path) -> dict[str, str]:
        """Return the rounds of annotation that show rows of these datasets, with the reason."""
        rounds = {}
        keys = [path for f in ROUNDS for path in results.glob(f"{f}/*/key.parquet")]
        for path in sorted(keys):
            found = set(pl.read_parquet(path, columns=["dataset"])["dataset"]) & set(self.datasets)
            if found:
                rounds[path.parent.name] = self.datasets[min(found)]
        return rounds

    def _quoting_tables(self, results: Path) -> dict[str, str]:
        """Return the tables that quote rows of these datasets, in all formats, with the reason."""
        withheld: dict[str, str] = {}
        if not self.datasets:
            return withheld
        # Those of older versions, too, but nothing that a system or an editor left.
        for path in sorted((results / "tables").glob("[!.]*.parquet")):
            if found := _quoted_datasets(path) & set(self.datasets):
                files = (f"results/tables/{path.stem}{end}" for end in (".parquet", ".csv"))
                withheld |= dict.fromkeys(files, self.datasets[min(found)])
        return withheld

    def by_path(self, path: str) -> str | None:
        """Return why a file must not be exported, by its path in the project, or None."""
        parts = PurePosixPath(path).parts
        if path in self._paths:
            return self._paths[path]
        if parts[:2] == ("results", "provenance") or parts[-1] in COUNTS:
            return None
        if parts[:2] in {("results", folder) for folder in ROUNDS}:
            return self._rounds.get(parts[2]) if parts[-1] in SHOWN else None
        if parts[:2] == ("data", "annotations"):
            return self._rounds.get(parts[2])
        names = {*parts[1:-1], PurePosixPath(path).stem} if parts[0] == "results" else set()
        return next((why for name, why in self.datasets.items() if name in names), None)

    def by_text(self, texts: Texts) -> str | None:
        """Return why the file with some texts must not be exported, or None."""
        if not self._stretches:
            return None
        column = texts.texts.drop_nulls().unique()
        column = column.filter(column.str.len_bytes() >= SHORTEST)
        found = column.filter(column.str.contains_any(list(self._stretches)))
        if found.is_empty():
            return None
        stretch = next(stretch for stretch in self._stretches if stretch in found[0])
        return text_of(self.datasets[self._stretches[stretch]])


def stretches(results: Path, dataset: str) -> list[str]:
    """Return passages by which to recognise a dataset's conversations, each of one item alone."""
    path = results / "datasets" / f"{dataset}.parquet"
    if not path.is_file():
        return []
    items = pl.read_parquet(path, columns=["messages"])["messages"]
    of_items = [
        {part for message in messages for part in STRETCH.findall(message["content"])}
        for messages in items
    ]
    n_items = Counter(part for parts in of_items for part in parts)
    alone = [sorted((p for p in parts if n_items[p] == 1), key=len) for parts in of_items]
    return sorted({part for parts in alone for part in parts[-STRETCHES:]})


TURN = [
    *TURN_KEYS,
    "key",
    "prompt_text",
    "answer",
    "outcome",
    "text",
    "finish_reason",
    "n_tokens",
    "error",
]
VERDICT = [*TURN_KEYS, "judge", "label", "genuine", "rationale", "unscored_reason"]


def open_cells(grid: Grid) -> Iterator[Cell]:
    """Yield the finished cells of datasets whose rows may be exported."""
    withheld = withheld_datasets(grid.config)
    for cell in grid.cells:
        if cell.dataset not in withheld and _folder(grid, cell).is_dir():
            yield cell


def read_turns(grid: Grid, cell: Cell) -> pl.DataFrame:
    """Return a cell's user turns with the `messages` of their items and `reference_answer`."""
    turns = pl.read_parquet(_folder(grid, cell) / "user_turns.parquet", columns=TURN)
    items = pl.read_parquet(
        grid.dataset_path(cell.dataset), columns=["item", "messages", "reference_answer"]
    )
    return turns.join(items, on="item", how="left", maintain_order="left")


def read_verdicts(grid: Grid, cell: Cell) -> dict[str, pl.DataFrame]:
    """Return each judge's verdicts on a cell."""
    folder = _folder(grid, cell) / "verdicts"
    return {
        name: pl.read_parquet(folder / f"{name}.parquet", columns=VERDICT) for name in grid.judges
    }


def read_rates(grid: Grid, cell: Cell) -> list[dict[str, Any]]:
    """Return counts and rate of a cell by each judge; none if it is not tabulated yet."""
    path = grid.results / "tables" / "rates.parquet"
    if not path.is_file():
        return []
    temperature = grid.temperatures[cell.temperature]
    values = (model_of(cell.model), cell.dataset, temperature, cell.perturbation)
    own = dict(zip(CELL_KEYS, values, strict=True)) | {"scope": "cell", "label": GENUINE}
    rates = pl.read_parquet(path)
    if "label" not in rates.columns:  # of an earlier version
        return []
    if "format" in rates.columns:
        own["format"] = format_of(cell.model)
    return rates.filter(**own).to_dicts()


def _folder(grid: Grid, cell: Cell) -> Path:
    return grid.results / "cells" / cell.folder
