"""The user turns that may leave a study, with the conversations before them and their verdicts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from userturn.config.formats import format_of, model_of
from userturn.export.withheld import withheld_datasets
from userturn.judges.verdict import GENUINE
from userturn.storage.table_files import CELL_KEYS, TURN_KEYS
from userturn.study.cells import Cell
from userturn.study.grid import Grid

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
