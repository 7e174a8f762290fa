"""Figure `perturbation_effects`: the change that each perturbation makes."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures import theme
from userturn.study.cells import ALL
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_figures", place=30, tables=("contrasts",))
TITLE = "Change by perturbations"
SHOWN = ("model", "dataset", "temperature", "perturbation", "change", "items", "adjusted_p")
CHANGE = ("difference", "lower", "upper")


def _datasets(table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return the rows to draw, and their datasets: all together first, unless there is only one."""
    names = sorted(set(table["dataset"]) - {ALL})
    if len(names) < 2:
        return table.filter(pl.col("dataset") != ALL), names
    named = table.with_columns(pl.col("dataset").replace(ALL, theme.ALL_DATASETS))
    return named, [theme.ALL_DATASETS, *names]


def perturbation_effects(contrasts: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw how perturbations change the follow-up rate at the lowest temperature."""
    changes = contrasts.filter(
        pl.col("factor") == "perturbation", pl.col("scope").is_in(["model", "model and dataset"])
    ).with_columns(
        detected=pl.col("p_adjusted") < 0.05,
        change=theme.percent_text(CHANGE, " points"),
        items=pl.format("{} tested", "n_items"),
        adjusted_p=theme.p_value(pl.col("p_adjusted")),
    )
    table, datasets = _datasets(changes)
    if table.is_empty():
        return theme.note(TITLE, "no perturbation shares a scored item with the plain answer")
    chart = _layers(table, families).facet(
        column=alt.Column("dataset:N", title=None, sort=datasets), spacing=theme.SPACED
    )
    chart = theme.preset(chart, temperature=table["temperature"].min())
    more = f"{theme.temperature_row(table)}; 95% intervals; filled: adjusted p < 0.05"
    return chart.properties(title=theme.titled(TITLE, judge, more))


def _layers(table: pl.DataFrame, families: pl.DataFrame) -> Any:
    told = theme.told_apart("condition", theme.conditions_in(table, "condition"))
    y = alt.Y("model:N", title=None, sort=theme.models_in(families, table)).axis(grid=True)
    width = theme.panel_width(table["dataset"].n_unique(), 125)
    base = alt.Chart(table, width=width, height=alt.Step(12)).encode(
        y=y.scale(paddingInner=0.25), yOffset="condition:N", color=told["color"]
    )
    tooltip = theme.hover(*SHOWN)
    x = alt.X("difference:Q", title="change, points")
    in_points = "format(100 * datum.value, '.0f')"
    x = x.axis(labelExpr=in_points, tickCount=3, grid=False, labelFlush=False)
    bars = base.mark_rule(strokeWidth=1.6).encode(x="lower:Q", x2="upper:Q", tooltip=tooltip)
    points = [
        base.mark_point(filled=filled, size=34, opacity=1, strokeWidth=1.4)
        .transform_filter(alt.datum.detected == filled)
        .encode(x=x, shape=told["shape"], tooltip=tooltip)
        for filled in (True, False)
    ]
    zero = alt.Chart().mark_rule(color=theme.INK, strokeDash=[2, 2]).encode(x=alt.datum(0))
    return alt.layer(zero, bars, *points, data=table)
