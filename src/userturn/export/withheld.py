"""Private rows that must not be exported, files that quote them, and the turns that may leave.

Files of a private dataset are recognised by their paths. As a second check, no file is exported if
it contains a passage of one of the dataset's conversations.
"""

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from userturn.config.entries import Config, private_mark
from userturn.config.entries import paths_of as paths_of_files
from userturn.config.formats import format_of, model_of
from userturn.errors import UserError
from userturn.export.secrets import Secret, Texts, key_values, secrets_in, texts_of
from userturn.judges.verdict import GENUINE
from userturn.storage.table_files import CELL_KEYS, TURN_KEYS
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.wording import number_of
from userturn.workflow.run_folder import check_is_new

SHORTEST, LONGEST = 24, 60  # characters of a stretch
STRETCH = re.compile(f"[A-Za-z0-9 ,.;:()-]{{{SHORTEST},{LONGEST}}}")  # no file format escapes these
STRETCHES = 3  # per item
COUNTS = frozenset(("human_sample.parquet",))  # files with counts and ids only
SHOWN = frozenset(("items.parquet", "annotations.parquet", "task.html", "tasks.json"))
ROUNDS = ("humans", "pairs", "drawn")  # folders of the results with a folder for each round
QUOTING = ("conversation", "turn", "rationale")


def withheld_datasets(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the reason for each dataset whose rows must not be exported, by name."""
    marked = {name: private_mark(entry) for name, entry in sorted(config["datasets"].items())}
    return {
        name: f"rows of the dataset {name}, marked `{mark}`"
        for name, mark in marked.items()
        if mark
    }


def text_of(rows: str) -> str:
    """Return the reason to withhold a file that quotes the private rows of `rows`."""
    return f"text of {rows}"


class Withholding:
    """Decides which files may be exported. `datasets` has the reason per withheld dataset."""

    def __init__(self, config: Mapping[str, Any], results: Path) -> None:
        self.datasets, project = withheld_datasets(config), results.resolve().parent
        self._rounds = self._rounds_with_rows(results)
        own_files = {  # however they are named
            os.path.relpath((project / path).resolve(), project): why
            for name, why in self.datasets.items()
            for path in paths_of_files(config["datasets"][name])
        }
        self._paths = own_files | self._quoting_tables(results)
        self._stretches = {
            stretch: name for name in self.datasets for stretch in stretches(results, name)
        }

    def _rounds_with_rows(self, results: Path) -> dict[str, str]:
        """Return the reason for each round of annotation that shows withheld rows, by name."""
        rounds = {}
        keys = [path for f in ROUNDS for path in results.glob(f"{f}/*/key.parquet")]
        for path in sorted(keys):
            shown = set(pl.read_parquet(path, columns=["dataset"])["dataset"])
            if datasets := shown & self.datasets.keys():
                rounds[path.parent.name] = self.datasets[min(datasets)]
        return rounds

    def _quoting_tables(self, results: Path) -> dict[str, str]:
        """Return the reason for each table that quotes withheld rows, by path, as Parquet and CSV.

        Columns that quote are conversations, turns and rationales. Tables of older versions count,
        too, but no hidden files of systems or editors.
        """
        withheld: dict[str, str] = {}
        for path in sorted((results / "tables").glob("[!.]*.parquet")) if self.datasets else ():
            if columns := [name for name in QUOTING if name in pl.read_parquet_schema(path)]:
                rows = pl.read_parquet(path, columns=["dataset", *columns])
                quoting = rows.filter(pl.any_horizontal(pl.col(columns).is_not_null()))
                if datasets := {*quoting["dataset"]} & self.datasets.keys():
                    files = (f"results/tables/{path.stem}{end}" for end in (".parquet", ".csv"))
                    withheld |= dict.fromkeys(files, self.datasets[min(datasets)])
        return withheld

    def reason_by_path(self, path: str) -> str | None:
        """Return why a file must not be exported, judged by its path in the project, or None."""
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

    def reason_by_text(self, texts: Texts) -> str | None:
        """Return why a file must not be exported, judged by some of its texts, or None."""
        if not self._stretches:
            return None
        column = texts.texts.drop_nulls().unique()
        column = column.filter(column.str.len_bytes() >= SHORTEST)
        quoting = column.filter(column.str.contains_any(list(self._stretches)))
        if quoting.is_empty():
            return None
        stretch = next(stretch for stretch in self._stretches if stretch in quoting[0])
        return text_of(self.datasets[self._stretches[stretch]])


def stretches(results: Path, dataset: str) -> list[str]:
    """Return passages that each occur in one item only, to recognise a dataset's conversations."""
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
    *(*TURN_KEYS, "key", "prompt_text", "answer"),
    *("outcome", "text", "finish_reason", "n_tokens", "error"),
]
VERDICT = [*TURN_KEYS, "judge", "label", "genuine", "rationale", "unscored_reason"]


def open_cells(grid: Grid) -> Iterator[Cell]:
    """Yield the finished cells of datasets whose rows may be exported."""
    withheld = withheld_datasets(grid.config)
    for cell in grid.cells:
        if cell.dataset not in withheld and _folder(grid, cell).is_dir():
            yield cell


def read_turns(grid: Grid, cell: Cell) -> pl.DataFrame:
    """Return a cell's user turns with the `messages` and `reference_answer` of their items."""
    turns = pl.read_parquet(_folder(grid, cell) / "user_turns.parquet", columns=TURN)
    items = pl.read_parquet(
        grid.dataset_path(cell.dataset), columns=["item", "messages", "reference_answer"]
    )
    return turns.join(items, on="item", how="left", maintain_order="left")


def read_verdicts(grid: Grid, cell: Cell) -> dict[str, pl.DataFrame]:
    """Return the tables of verdicts on a cell, by judge."""
    folder = _folder(grid, cell) / "verdicts"
    return {
        name: pl.read_parquet(folder / f"{name}.parquet", columns=VERDICT) for name in grid.judges
    }


def read_rates(grid: Grid, cell: Cell) -> list[dict[str, Any]]:
    """Return a row with counts and rate of a cell per judge, or none if it is not tabulated yet."""
    path = grid.results / "tables" / "rates.parquet"
    if not path.is_file():
        return []
    temperature = grid.temperatures[cell.temperature]
    values = (model_of(cell.model), cell.dataset, temperature, cell.perturbation)
    own = dict(zip(CELL_KEYS, values, strict=True)) | {"scope": "cell", "label": GENUINE}
    rates = pl.read_parquet(path)
    if "label" not in rates.columns:  # a table of an earlier version
        return []
    if "format" in rates.columns:
        own["format"] = format_of(cell.model)
    return rates.filter(**own).to_dicts()


def _folder(grid: Grid, cell: Cell) -> Path:
    return grid.results / "cells" / cell.folder


def checked(
    path: Path, withholding: Withholding, values: Mapping[str, str]
) -> tuple[str | None, list[Secret]]:
    """Return why a file must not be exported or None, and the secrets in it.

    Raises:
        UserError: the file cannot be read to its end.
    """
    secrets: list[Secret] = []
    try:
        for texts in texts_of(path):
            reason = withholding.reason_by_text(texts)
            if reason is not None:
                return reason, []
            secrets += secrets_in(path, texts, values)
    except (OSError, pa.ArrowException) as error:
        raise UserError(
            f"'{path}' cannot be read to its end ({type(error).__name__}); `userturn audit` says "
            "how to fix it"
        ) from error
    return None, secrets


def refuse(secrets: Iterable[Secret]) -> None:
    """Raise UserError if there is a secret, so that a study with one is not exported."""
    listed = list(secrets)
    if listed:
        raise UserError(
            f"{number_of(len(listed), 'likely secret')}; the first is in '{listed[0].path}', "
            f"{listed[0].where} ({listed[0].kind}); nothing was written: revoke that key and "
            "remove it from the file, or mark its dataset `export: false`"
        )


class Written(NamedTuple):
    """The result of an export: a sentence on it, its path, and how much it has and leaves out."""

    said: str
    place: str
    n_written: int  # files of an archive, logs or results of cells, or datasets
    n_left_out: int


def write_checked(
    folder: Path, results: Path, config: Config, write: Callable[[Path], None]
) -> dict[str, str]:
    """Write files of a study into a new folder, without those that must not be exported.

    `write` writes all files into a folder. Returned are the reasons of those left out, by path.

    Raises:
        UserError: the folder is not empty, or there is a secret, so that nothing is written.
    """
    check_is_new(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    withholding, values = Withholding(config, results), key_values(config)
    left_out = {}
    with TemporaryDirectory(dir=folder.parent) as scratch:
        whole = Path(scratch) / "whole"
        whole.mkdir()
        write(whole)
        for path in sorted(path_below for path_below in whole.rglob("*") if path_below.is_file()):
            reason, secrets = checked(path, withholding, values)
            refuse(secrets)
            if reason is not None:
                left_out[path.relative_to(whole).as_posix()] = reason
                path.unlink()
        shutil.copytree(whole, folder, dirs_exist_ok=True)
    return left_out
