"""Figure `rates_by_turn`: follow-up rates after each user turn of real conversations."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures import theme
from userturn.storage.table_files import CELL_KEYS
from userturn.study.cells import PLAIN
from userturn.tables.parts_of_cells import BY_TURN
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_turns", place=70, tables=("rates",), needs="conversation_verdicts")
TITLE = "Genuine follow-ups after each turn of conversations, share of turns"


def rates_by_turn(rates: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw unperturbed rates: a row per model, a panel per dataset, a line per temperature."""
    of_turns = rates.filter(pl.col("scope") == BY_TURN, pl.col("perturbation") == PLAIN)
    table = of_turns.with_columns(turn=pl.col("group").cast(pl.Int64)).drop_nulls("turn")
    if table["estimate"].count() == 0:
        return theme.note(TITLE, theme.NOTHING)
    named = table.with_columns(
        genuine=theme.percent_text(),
        scored=theme.out_of("n_scored", "n_turns", "turns"),
        place=pl.col("turn") + theme.SHIFT * (pl.col("temperature").rank("dense") - 1),
    )
    models = theme.models_in(families, named)
    widest, height = (240, 170) if len(models) <= theme.SMALL else (130, 62)
    width = theme.panel_width(named["dataset"].n_unique(), widest)
    told = theme.told_apart("temperature", named["temperature"].unique().sort().to_list())
    x = theme.count_axis(named, "turn")
    tooltip = theme.hover(*CELL_KEYS, "turn", "genuine", "scored")
    base = alt.Chart(named, width=width, height=height).encode(x=x, color=told["color"])
    chart = theme.row_a_model(theme.lines_with_limits(base, told, tooltip), models)
    return chart.properties(title=theme.titled(TITLE, judge, "; 95% intervals by conversation"))
