"""Draw every figure but `confusion`, each by the verdicts of one judge at a time.

Each figure is written as Vega-Lite JSON (for tests and the report), SVG and PNG.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import polars as pl

from userturn.figures.theme import save, warned
from userturn.study.grid import Grid
from userturn.tables.added_columns import read_joined
from userturn.tables.judge_validity import warning
from userturn.workflow.registry import FIGURES


def draw_figures(
    grid: Grid,
    identity: str,
    inputs: Mapping[str, Sequence[str]],
    outputs: Mapping[str, Sequence[str]],
) -> None:
    """Write the figures that `outputs` names, by the primary judge; their JSON has every judge's.

    `inputs` has by a table's name a sequence of one path, and `outputs` by a figure's name the
    paths of its Vega-Lite JSON, SVG and PNG.
    """
    tables = {name: read_joined(paths[0]) for name, paths in inputs.items()}
    for name, paths in outputs.items():
        charts = {judge: _chart(name, tables, grid, judge) for judge in grid.judges}
        chart = charts.pop(grid.primary_judge)
        save(chart, identity, map(str, paths), charts)


def _chart(name: str, tables: Mapping[str, pl.DataFrame], grid: Grid, judge: str) -> Any:
    judged_tables = [
        table.filter(pl.col("judge") == judge) if "judge" in table.columns else table
        for table in (tables[used] for used in (*FIGURES[name].tables, "families"))
    ]
    chart = getattr(import_module(f"userturn.figures.{name}"), name)(*judged_tables, judge)
    is_judged = any("judge" in tables[used].columns for used in FIGURES[name].tables)
    return warned(chart, warning(tables["judges"], grid, judge) if is_judged else None)
