"""The rates that an export quotes are those of the cell, and of its model's format."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from userturn.export.withheld import read_rates
from userturn.study.cells import Cell


def test_rates_of_a_cell_are_those_of_its_format(tmp_path: Path) -> None:
    of = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none"}
    of |= {"scope": "cell", "label": "genuine_followup"}
    rows = [of | {"format": name, "estimate": e} for name, e in (("default", 0.1), ("other", 0.2))]
    (tmp_path / "tables").mkdir()
    pl.DataFrame(rows).write_parquet(tmp_path / "tables" / "rates.parquet")
    grid: Any = SimpleNamespace(results=tmp_path, temperatures={"0": 0.0})
    for model, estimate in (("m", 0.1), ("m+other", 0.2)):
        assert [r["estimate"] for r in read_rates(grid, Cell(model, "d", "0", "none"))] == [
            estimate
        ]
