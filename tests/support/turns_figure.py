"""Figure `turns`: turns of each cell."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures.theme import titled
from userturn.tables.rates import cell_rates
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_figures", place=1, tables=("rates",))


def turns(rates: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw how many turns each model has."""
    bars = alt.Chart(cell_rates(rates)).mark_bar().encode(x="sum(n_turns):Q", y="model:N")
    return bars.properties(title=titled("Turns", judge))
