"""Figure `self_play`: what becomes of conversations that a model continues with itself."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures import theme
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


def self_play(rates: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw four measures over depth: a row per model, a panel per measure, a line per dataset."""
    if rates["estimate"].count() == 0:
        return theme.note(TITLE, theme.NOTHING)
    table = theme.row_a_measure(rates, MEASURES, *NAMED, "n_scored", "n_turns").with_columns(
        place=pl.col("depth") + theme.SHIFT * (pl.col("dataset").rank("dense") - 1),
        share=theme.percent_text(),
        scored=theme.out_of("n_scored", "n_turns", "turns"),
    )
    models = theme.models_in(families, table)
    measures = alt.Column("measure:N", title=None, sort=list(MEASURES.values()))
    chart = theme.row_a_model(_layers(table, len(models)), models, measures)
    chart = theme.preset(chart, temperature=table["temperature"].min())
    more = f"{theme.temperature_row(table)}; 95% intervals by conversation"
    return chart.properties(title=theme.titled(TITLE, judge, more))


def _layers(table: pl.DataFrame, n_models: int) -> Any:
    height = 150 if n_models <= theme.SMALL else 62
    told = theme.told_apart("dataset", table["dataset"].unique().sort().to_list())
    tooltip = theme.hover(*NAMED, "measure", "share", "scored")
    x = theme.count_axis(table, "depth")
    base = alt.Chart(table, width=WIDTH, height=height).encode(x=x, color=told["color"])
    return theme.lines_with_limits(base, told, tooltip)
