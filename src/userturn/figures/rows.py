"""Rows and labels that several figures share."""

from typing import Any

import altair as alt
import polars as pl

from userturn.study.cells import PLAIN

ALL_DATASETS = "all datasets"
NOTHING = "no turn was scored"
SPACED = 26  # pixels between panels whose first and last labels would touch
SMALL = 3  # with more models than this, panels are small


def plain_cells(table: pl.DataFrame) -> pl.DataFrame:
    """Return the unperturbed rows at the lowest temperature."""
    lowest = pl.col("temperature") == pl.col("temperature").min()
    return table.filter(lowest, pl.col("perturbation") == PLAIN)


def held(chart: Any, **values: Any) -> Any:
    """Return a chart of the rows with some values; whoever shows it may choose other ones.

    Each value is a parameter of the chart, named like the column. Rows without a value always show.
    """
    for name in values:
        chart = chart.transform_filter(f"datum.{name} === null || datum.{name} === {name}")
    chart.params = [alt.param(name=name, value=value).param for name, value in values.items()]
    return chart


def temperature_row(rates: pl.DataFrame) -> str:
    """Return the lowest temperature as part of a sentence."""
    return "".join(f", temperature {t:g}" for t in rates["temperature"].unique().sort()[:1])
