"""Figure `failure_profiles`: the share of each label among user turns."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures import theme
from userturn.judges.verdict import GENUINE
from userturn.study.cells import ALL, PLAIN
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_figures", place=40, tables=("rates",))
TITLE = "What the user turns are"
# Names of labels as words, with the last word on a line of its own.
IN_LINES = f"split(replace({theme.LABEL_IN_WORDS}, / (?=[^ ]*$)/, '|'), '|')"
SHOWN = ("label", "model", "dataset", "temperature", "perturbation", "share", "of")


def _bars(table: pl.DataFrame, families: pl.DataFrame) -> Any:
    told = theme.told_apart("family", theme.families_in(families, table))
    y = alt.Y("model:N", title=None, sort=theme.models_in(families, table)).axis(grid=True)
    width = theme.panel_width(table["label"].n_unique(), 105)
    base = alt.Chart(table, width=width, height=alt.Step(20)).encode(
        y=y, color=told["color"], tooltip=theme.hover(*SHOWN)
    )
    x = alt.X("estimate:Q", title="share")
    x = x.axis(format="%", tickCount=2, grid=False, labelFlush=False)
    bars = base.mark_bar(fillOpacity=0.3, height=9).encode(x=x)
    return alt.layer(bars, *theme.limits_across(base, told, "estimate:Q", size=32))


def failure_profiles(rates: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw the share of each label among each model's turns.

    Shown first are unperturbed turns at the lowest temperature, of all datasets together.
    """
    rows = rates.filter(pl.col("model") != ALL, pl.col("average") == "micro").drop_nulls("estimate")
    if theme.plain_cells(rows.filter(pl.col("scope") == "model")).is_empty():
        return theme.note(TITLE, theme.NOTHING)
    told = {
        "share": theme.percent_text(),
        "of": theme.out_of("n_positive", "n_scored", "scored turns"),
    }
    table = rows.with_columns(pl.col("dataset").replace(ALL, theme.ALL_DATASETS), **told)
    table = table.select(*SHOWN, "family", "estimate", "lower", "upper")
    labels = sorted(table["label"].unique(), key=lambda label: (label != GENUINE, label))
    header = alt.Header(labelExpr=IN_LINES)
    chart = _bars(table, families).facet(
        column=alt.Column("label:N", title=None, sort=labels, header=header), spacing=theme.SPACED
    )
    lowest: Any = table["temperature"].min()
    chart = theme.preset(chart, dataset=theme.ALL_DATASETS, temperature=lowest, perturbation=PLAIN)
    more = f"; unperturbed, temperature {lowest:g}, all datasets; 95% intervals"
    return chart.properties(title=theme.titled(TITLE, judge, more))
