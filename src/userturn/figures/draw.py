"""Figures in altair: an interval on every estimate, one judge, models by family and size.

Each figure is written as Vega-Lite JSON (for tests and the report), SVG and PNG.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from userturn.figures.accuracy_and_followup import accuracy_and_followup
from userturn.figures.failure_profiles import failure_profiles
from userturn.figures.grid_overview import grid_overview
from userturn.figures.perturbation_effects import perturbation_effects
from userturn.figures.rates_by_temperature import rates_by_temperature
from userturn.figures.theme import (
    save,
)

FIGURES: dict[str, tuple[Any, Sequence[str]]] = {
    "accuracy_and_followup": (accuracy_and_followup, ["rates", "accuracy"]),
    "rates_by_temperature": (rates_by_temperature, ["rates"]),
    "perturbation_effects": (perturbation_effects, ["contrasts"]),
    "failure_profiles": (failure_profiles, ["failure_profiles"]),
    "grid_overview": (grid_overview, ["health"]),
}


def draw_figures(
    judge: str,
    identity: str,
    paths_to_tables: Mapping[str, str],
    paths_to_figures: Mapping[str, Sequence[str]],
) -> None:
    """Draw every figure, from the verdicts of one judge.

    Args:
        judge: whose verdicts are shown.
        identity: of the figures.
        paths_to_tables: by the table's name.
        paths_to_figures: by the figure's name: Vega-Lite, SVG and PNG.
    """
    tables = {name: pl.read_parquet(path) for name, path in paths_to_tables.items()}
    shown = {
        name: table.filter(pl.col("judge") == judge) if "judge" in table.columns else table
        for name, table in tables.items()
    }
    for name, paths in paths_to_figures.items():
        figure, needed = FIGURES[name]
        chart = figure(*(shown[table] for table in needed), shown["families"], judge)
        save(chart, identity, *map(str, paths))
