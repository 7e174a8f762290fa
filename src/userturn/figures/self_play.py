"""Figure `self_play`: what becomes of conversations that a model continues with itself."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures.theme import (
    NOTHING,
    SHIFT,
    SMALL,
    held,
    hover,
    in_percent,
    lines_with_limits,
    models_in,
    note,
    out_of,
    over_counts,
    temperature_row,
    titled,
    told_apart,
)
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_self_play", place=90, tables=("self_play",))
TITLE = "Self-play over depth, shares of turns and of word triples"
MEASURES = {  # by the table's column, in the order of the panels
    "estimate": "genuine",
    "assistant_speech": "speaks as the assistant",
    "repeats_prompt": "repeats the prompt",
    "repeats_turns": "repeats its turns",
}
WIDTH = 170  # of a panel, which is wider than the longest heading
NAMED = ["model", "dataset", "temperature", "depth"]


def _long(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each measure of a row of the table."""
    limits = ("lower", "upper")
    parts = [
        table.select(
            *NAMED,
            "n_scored",
            "n_turns",
            measure=pl.lit(measure),
            estimate=name,
            **{end: end if name == "estimate" else f"{name}_{end}" for end in limits},
        )
        for name, measure in MEASURES.items()
    ]
    place = pl.col("depth") + SHIFT * (pl.col("dataset").rank("dense") - 1)
    told = {"share": in_percent(), "scored": out_of("n_scored", "n_turns", "turns")}
    return pl.concat(parts).with_columns(place=place, **told)


def self_play(rates: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw four measures over depth: a row a model, a panel a measure, a line a dataset."""
    if rates["estimate"].count() == 0:
        return note(TITLE, NOTHING)
    table = _long(rates)
    header = alt.Header(labelAngle=0, labelAlign="left", labelBaseline="middle")
    chart = _layers(table, families).facet(
        row=alt.Row("model:N", title=None, sort=models_in(families, table), header=header),
        column=alt.Column("measure:N", title=None, sort=list(MEASURES.values())),
    )
    chart = held(chart, temperature=table["temperature"].min())
    more = f"{temperature_row(table)}; 95% intervals by conversation"
    title = titled(TITLE, judge, more)
    return chart.properties(title=title)


def _layers(table: pl.DataFrame, families: pl.DataFrame) -> Any:
    """Return the lines, intervals and points of one panel."""
    height = 150 if len(models_in(families, table)) <= SMALL else 62
    told = told_apart("dataset", table["dataset"].unique().sort().to_list())
    shown = hover(*NAMED, "measure", "share", "scored")
    x = over_counts(table, "depth")
    base = alt.Chart(table, width=WIDTH, height=height).encode(x=x, color=told["color"])
    return lines_with_limits(base, told, shown)
