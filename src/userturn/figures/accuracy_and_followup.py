"""Figure `accuracy_and_followup`: task accuracy over the follow-up rate, by model size."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures import theme
from userturn.study.cells import PLAIN
from userturn.tables.rates import cell_rates
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_figures", place=10, tables=("rates", "accuracy"))
TITLE = "Task accuracy and genuine follow-ups"
MEASURES = ["task accuracy", "genuine follow-up"]
SHOWN = ["model", "dataset", "temperature", "perturbation", "measure", "estimate", "lower", "upper"]


def _measures(rates: pl.DataFrame, accuracy: pl.DataFrame, families: pl.DataFrame) -> pl.DataFrame:
    """Return accuracy by model and dataset and follow-up rates by cell, in rows with hover texts.

    Accuracy has neither temperature nor perturbation, since each item is answered once. Rows
    without an estimate stay, since a panel without any row would be missing.
    """
    nothing = {"temperature": pl.lit(None, pl.Float64), "perturbation": pl.lit(None, pl.String)}
    counted = [("n_graded", "n_items", "items graded"), ("n_scored", "n_turns", "turns scored")]
    tables = [
        table.with_columns(measure=pl.lit(measure)).select(
            *SHOWN, share=theme.percent_text(), of=theme.out_of(*count)
        )
        for measure, table, count in zip(
            MEASURES, (accuracy.with_columns(**nothing), rates), counted, strict=True
        )
    ]
    return pl.concat(tables).join(families, on="model", maintain_order="left")


def _layers(table: pl.DataFrame, families: pl.DataFrame) -> Any:
    x, width = theme.size_axis(table, families, theme.panel_width(table["dataset"].n_unique()))
    told = theme.told_apart("family", theme.families_in(families, table))
    tooltip = theme.hover(
        "model", "dataset", "temperature", "perturbation", "measure", "share", "of"
    )
    base = alt.Chart(table, width=width, height=130).encode(color=told["color"], x=x)
    y = alt.Y("estimate:Q", title=None).axis(format="%", tickCount=4)
    # Models side by side have no order, so no line joins them.
    opacity = 1 if theme.is_ordered(table) else 0
    lines = base.mark_line(strokeWidth=1.3, opacity=opacity, invalid="filter").encode(y=y)
    top = base.mark_rule(opacity=0).encode(y="top:Q")
    return alt.layer(lines, *theme.limits_upright(base, told, tooltip, 1.5, 50), top, data=table)


def accuracy_and_followup(
    rates: pl.DataFrame, accuracy: pl.DataFrame, families: pl.DataFrame, judge: str
) -> Any:
    """Draw accuracy and follow-up rate over model size: a row per measure, a panel per dataset.

    The follow-up rate is from the unperturbed cell at the lowest temperature. Each measure has
    its own scale. If a size is unknown or two are equal, models are side by side instead.
    """
    rates = cell_rates(rates)
    table = _measures(rates, accuracy, families)
    seen = table.drop_nulls("estimate")
    if seen.is_empty() or (theme.plain_cells(rates).is_empty() and accuracy.is_empty()):
        return theme.note(TITLE, "nothing was graded or scored")
    rows = alt.Row("measure:N", title=None, sort=MEASURES)
    chart = _layers(table, families).facet(row=rows, column=theme.BY_DATASET)
    chart = theme.preset(chart, temperature=rates["temperature"].min(), perturbation=PLAIN)
    # All panels of a measure end where its highest interval ends, and accuracy at 100%.
    accurate = f"datum.measure === '{MEASURES[0]}'"
    chart = chart.transform_joinaggregate(highest="max(upper)", groupby=["measure"])
    chart = chart.transform_calculate(top=f"{accurate} ? 1 : datum.highest")
    more = f"; unperturbed{theme.temperature_row(rates)}; 95% intervals; a scale for each measure"
    title = theme.titled(TITLE, judge, more)
    return chart.resolve_scale(y="independent").properties(title=title)
