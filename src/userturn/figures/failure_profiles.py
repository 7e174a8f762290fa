"""Figure `failure_profiles`: the share of each label among user turns."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures.rows import NOTHING, SPACED, plain_cells
from userturn.figures.theme import (
    ceiling,
    families_in,
    models_in,
    note,
    titled,
    told_apart,
)
from userturn.judges.verdict import GENUINE


def failure_profiles(profiles: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw the share of each label among the unperturbed turns of each model, over all datasets."""
    rows = profiles.filter(pl.col("scope") == "model").drop_nulls("estimate")
    table = plain_cells(rows)
    if table.is_empty():
        return note(NOTHING)
    labels = sorted(table["label"].unique(), key=lambda label: (label != GENUINE, label))
    told = told_apart("family", families_in(families, table))
    y = alt.Y("model:N", title=None, sort=models_in(families, table)).axis(grid=True)
    base = alt.Chart(table, width=105, height=alt.Step(20)).encode(y=y, color=told["color"])
    top = ceiling(table["upper"])
    x = alt.X("estimate:Q", title="share").scale(domain=[0, top])
    x = x.axis(format="%", values=[0, top / 2], grid=False, labelFlush=False)
    bars = base.mark_bar(fillOpacity=0.3, height=9).encode(x=x)
    rules = base.mark_rule(strokeWidth=1.6).encode(x="lower:Q", x2="upper:Q")
    points = base.mark_point(filled=True, size=32, opacity=1).encode(
        x="estimate:Q", shape=told["shape"]
    )
    chart = (bars + rules + points).facet(
        column=alt.Column("label:N", title=None, sort=labels, header=alt.Header(labelFontSize=10)),
        spacing=SPACED,
    )
    more = f"; unperturbed, temperature {table['temperature'][0]:g}, all datasets; 95% intervals"
    return chart.properties(title=titled("What the user turns are", judge, more))
