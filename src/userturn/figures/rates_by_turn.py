"""Figure `rates_by_turn`: follow-up rates after each user turn of real conversations."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures.hover import hover, in_percent, out_of
from userturn.figures.rows import NOTHING, SHIFT, SMALL
from userturn.figures.theme import models_in, note, titled, told_apart
from userturn.storage.key_columns import CELL_KEYS
from userturn.study.cells import PLAIN

LIMITS = "; 95% intervals by conversation"


def rates_by_turn(rates: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw unperturbed rates: a row a model, a panel a dataset, a line a temperature."""
    table = rates.filter(pl.col("perturbation") == PLAIN).drop_nulls("turn")
    if table["estimate"].count() == 0:
        return note(NOTHING)
    title = "Genuine follow-ups after each turn of conversations, share of turns"
    return over_turns(table, families, "turn").properties(title=titled(title, judge, LIMITS))


def over_turns(table: pl.DataFrame, families: pl.DataFrame, number: str) -> Any:
    """Draw rates over a number of turns, from the rows of one judge."""
    named = table.with_columns(
        at=pl.format("temperature {}", pl.col("temperature").cast(pl.String)),
        genuine=in_percent(),
        scored=out_of("n_scored", "n_turns", "turns"),
        place=pl.col(number) + SHIFT * (pl.col("temperature").rank("dense") - 1),
    )
    models = models_in(families, named)
    width, height = (240, 170) if len(models) <= SMALL else (130, 62)
    told = told_apart("at", named.sort("temperature")["at"].unique(maintain_order=True).to_list())
    numbers = named[number].unique().sort().to_list()
    x = alt.X("place:Q", title=number).axis(values=numbers, format="d", grid=False)
    x = x.scale(domain=[min(numbers) - 0.3, max(numbers) + 0.5], nice=False)
    y = alt.Y("estimate:Q", title=None).axis(format="%", tickCount=3)
    shown = hover(*CELL_KEYS, number, "genuine", "scored")
    base = alt.Chart(named, width=width, height=height).encode(x=x, color=told["color"])
    lines = base.mark_line(strokeWidth=1.2, invalid="filter").encode(y=y)
    bars = base.mark_rule(strokeWidth=1.2).encode(y="lower:Q", y2="upper:Q", tooltip=shown)
    points = base.mark_point(filled=True, size=30, opacity=1).encode(
        y="estimate:Q", shape=told["shape"], tooltip=shown
    )
    header = alt.Header(labelAngle=0, labelAlign="left", labelBaseline="middle")
    return (lines + bars + points).facet(
        row=alt.Row("model:N", title=None, sort=models, header=header),
        column=alt.Column("dataset:N", title=None),
    )
