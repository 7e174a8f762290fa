"""The figure of the whole grid: how every cell fared."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures.theme import INK, conditions_in, models_in, note, titled

OVER = 0.05  # share of a cell's turns from which its trouble is marked
MARKS = {"E": "share_empty", "T": "share_truncated", "R": "share_refused", "X": "share_error"}


def grid_overview(health: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw the share of unscored turns of every cell, and mark its problems."""
    if health.is_empty():
        return note("the grid has no cell")
    letters = [
        pl.when(pl.col(share) > OVER).then(pl.lit(letter)).otherwise(pl.lit(""))
        for letter, share in MARKS.items()
    ]
    table = health.with_columns(marks=pl.concat_str(letters))
    n = table["temperature"].n_unique()
    y = alt.Y("model:N", title=None, sort=models_in(families, table)).axis(
        domain=False, ticks=False
    )
    x = alt.X("temperature:O", title="temperature").axis(labelAngle=0, domain=False, ticks=False)
    size = max(24, 110 // n)
    base = alt.Chart(table, width=alt.Step(size), height=alt.Step(17)).encode(x=x, y=y)
    colour = alt.Color("share_unscored:Q", title="share of turns without a verdict").scale(
        domain=[0, 1], range=["#EDF3F8", "#F0B35B", "#8C2D04"], interpolate="rgb"
    )
    legend = alt.Legend(format="%", gradientLength=200, titleLimit=300, tickCount=2)
    squares = base.mark_rect(stroke="white").encode(color=colour.legend(legend))
    ink = alt.condition(alt.datum.share_unscored > 0.6, alt.value("white"), alt.value(INK))
    marks = base.mark_text(fontSize=9).encode(text="marks:N", color=ink)
    chart = (squares + marks).facet(
        row=alt.Row("perturbation:N", title=None, sort=conditions_in(table, "perturbation")).header(
            labelAngle=0, labelAlign="left", labelBaseline="middle"
        ),
        column=alt.Column("dataset:N", title=None),
    )
    more = f"; over {OVER:.0%} of turns: E empty, T cut at the length limit, R refused, X error"
    return chart.properties(title=titled("Every cell of the grid", judge, more))
