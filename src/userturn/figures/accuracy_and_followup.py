"""Figure `accuracy_and_followup`: task accuracy beside the follow-up rate, over model size."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures.rows import plain_cells, temperature_row
from userturn.figures.theme import (
    families_in,
    models_in,
    note,
    titled,
    told_apart,
)

MEASURES = ["task accuracy", "genuine follow-up"]


def _measures(rates: pl.DataFrame, accuracy: pl.DataFrame, families: pl.DataFrame) -> pl.DataFrame:
    """Return accuracy and unperturbed follow-up rate of each model and dataset, in rows."""
    columns = ["model", "dataset", "measure", "estimate", "lower", "upper"]
    tables = [
        table.with_columns(measure=pl.lit(measure)).select(columns)
        for measure, table in zip(MEASURES, (accuracy, plain_cells(rates)), strict=True)
    ]
    seen = pl.concat(tables).drop_nulls("estimate")
    return seen.join(families, on="model", maintain_order="left")


def _over_size(table: pl.DataFrame, families: pl.DataFrame) -> tuple[dict[str, Any], int]:
    """Return the encoding of the axis and its width: by size if all are known, else by model."""
    if table["size"].null_count() or table["size"].n_unique() < 2:
        names = alt.X("model:N", title=None, sort=models_in(families, table)).axis(labelAngle=-35)
        offset = alt.XOffset("measure:N", sort=MEASURES)
        return {"x": names, "xOffset": offset}, max(120, 40 * table["model"].n_unique())
    axis = alt.Axis(format="~g", values=[0.1, 1, 10, 100, 1000], grid=False)
    x = alt.X("size:Q", title="parameters, billions", axis=axis)
    return {"x": x.scale(type="log", nice=False, padding=12)}, 160


def accuracy_and_followup(
    rates: pl.DataFrame, accuracy: pl.DataFrame, families: pl.DataFrame, judge: str
) -> Any:
    """Draw task accuracy and follow-up rate of each model over its size, one panel per dataset.

    The follow-up rate is that of the unperturbed cell at the lowest temperature. If the size of a
    model is unknown, models are side by side instead.
    """
    table = _measures(rates, accuracy, families)
    if table.is_empty():
        return note("nothing was graded or scored")
    place, width = _over_size(table, families)
    told = told_apart("family", families_in(families, table))
    y = alt.Y("estimate:Q", title="share of items, 95% interval")
    y = y.scale(domain=[0, 1]).axis(format="%")
    dash = alt.StrokeDash("measure:N").scale(domain=MEASURES)
    base = alt.Chart(table, width=width, height=210).encode(color=told["color"], **place)
    # Models side by side have no order, so no line joins them.
    opacity = 0 if "xOffset" in place else 1
    lines = base.mark_line(strokeWidth=1.3, opacity=opacity).encode(y=y, strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1.5).encode(y="lower:Q", y2="upper:Q")
    points = [
        base.mark_point(filled=filled, size=45, opacity=1, strokeWidth=1.5)
        .transform_filter(alt.datum.measure == measure)
        .encode(y="estimate:Q", shape=told["shape"])
        for measure, filled in zip(MEASURES, (True, False), strict=True)
    ]
    chart = alt.layer(lines, bars, *points, data=table).facet(
        column=alt.Column("dataset:N", title=None)
    )
    more = f"; unperturbed{temperature_row(rates)}; filled: accuracy, open: follow-up"
    return chart.properties(title=titled("Task accuracy and genuine follow-ups", judge, more))
