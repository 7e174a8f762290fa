"""Rows and labels that several figures share."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures.theme import models_in
from userturn.study.cells import PLAIN

ALL_DATASETS = "all datasets"
NOTHING = "no turn was scored"
SPACED = 26  # pixels between panels whose first and last labels would touch
SHIFT = 0.06  # of a turn or depth, between marks beside each other
MARGIN = 0.06  # of temperature, before the first and after the last mark
SMALL = 3  # with more models than this, panels are small
PANEL, OF_MODEL = 160, 12  # pixels of a panel, and at least of a model in it
ACROSS, LEAST = 660, 84  # pixels of panels beside each other, and at least of one


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


def is_ordered(table: pl.DataFrame) -> bool:
    """Return whether models have an order: all sizes are known, and no two models have the same."""
    sizes = table.select("model", "size").unique()["size"]
    return sizes.len() > 1 and sizes.null_count() == 0 and sizes.is_unique().all()


def panel_width(n: int, widest: int = PANEL) -> int:
    """Return the width of each of `n` panels beside each other, which fit on a page of paper."""
    return max(LEAST, min(widest, ACROSS // n))


def over_size(table: pl.DataFrame, families: pl.DataFrame, width: int = PANEL) -> tuple[alt.X, int]:
    """Return the axis of models and its width: by size, with a tick at each, or by name."""
    if not is_ordered(table):
        names = models_in(families, table)
        x = alt.X("model:N", title=None, sort=names, axis=alt.Axis(labelAngle=-90))
        return x, max(width, OF_MODEL * len(names))
    sizes = table["size"].unique().sort().to_list()
    axis = alt.Axis(format="~g", values=sizes, labelOverlap="greedy", grid=False)
    x = alt.X("size:Q", title="parameters, billions", axis=axis)
    return x.scale(type="log", nice=False, padding=12), width


def lines_with_limits(base: Any, told: Any, shown: Any) -> Any:
    """Return lines through rates, their limits and points, over the x axis of a chart.

    Args:
        base: the chart, with x and the colour of its lines.
        told: how its lines are told apart (`theme.told_apart`).
        shown: what a mark tells that is pointed at.
    """
    y = alt.Y("estimate:Q", title=None).axis(format="%", tickCount=3)
    lines = base.mark_line(strokeWidth=1.2, invalid="filter").encode(y=y, strokeDash=told["dash"])
    bars = base.mark_rule(strokeWidth=1.2).encode(y="lower:Q", y2="upper:Q", tooltip=shown)
    points = base.mark_point(filled=True, size=30, opacity=1).encode(
        y="estimate:Q", shape=told["shape"], tooltip=shown
    )
    return lines + bars + points


def over_temperatures(table: pl.DataFrame) -> alt.X:
    """Return the axis of temperatures, whose marks are at `place`.

    Marks of a single temperature stay beside each other: an axis of their own range would put them
    at its two ends, as if they were of two temperatures.
    """
    temperatures = table["temperature"].unique().sort().to_list()
    places = table["place"].to_list()
    margin = MARGIN * max(1.0, *temperatures)
    x = alt.X("place:Q", title="temperature")
    x = x.axis(values=temperatures, format="~g", grid=False, labelOverlap=True)
    return x.scale(domain=[min(places) - margin, max(places) + margin], nice=False)


def over_counts(table: pl.DataFrame, name: str) -> alt.X:
    """Return the axis of turns or depths, whose marks are at `place`."""
    numbers = table[name].unique().sort().to_list()
    x = alt.X("place:Q", title=name).axis(values=numbers, format="d", grid=False)
    return x.scale(domain=[min(numbers) - 0.3, max(numbers) + 0.5], nice=False)
