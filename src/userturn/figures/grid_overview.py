"""Figure `grid_overview`: the rate of every cell with its interval, and its troubles."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures import theme
from userturn.storage.table_files import CELL_KEYS
from userturn.tables.rates import cell_rates
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_figures", place=50, tables=("rates",))
TITLE = "Every cell of the grid"
OVER = 0.05  # share of a cell's turns above which its trouble is marked
WORD_BY_WORD = "split(datum.label, '_')"  # one below the other
MARKS = {"E": "n_empty", "T": "n_truncated", "R": "n_refused", "U": "n_unscored", "X": "n_error"}
HEIGHT, LEAST_WIDTH = 34, 26  # pixels of a square
LEAST = 0.005  # up to this, a share that is not zero is written as less than one percent
MOST = 3  # letters that fit beside each other in a square


def _cells(rates: pl.DataFrame) -> pl.DataFrame:
    letters = [
        pl.when(pl.col(count) > OVER * pl.col("n_turns")).then(pl.lit(letter)).otherwise(pl.lit(""))
        for letter, count in MARKS.items()
    ]
    troubles = pl.concat_str(letters)
    cut = troubles.str.head(MOST - 1) + pl.lit("+")
    table = rates.with_columns(n_unscored=pl.col("n_turns") - pl.col("n_scored"))
    estimate = pl.col("estimate")
    number = theme.fixed(100 * estimate, 0)
    return table.with_columns(
        number=pl.when(estimate.is_between(0, LEAST, "right"))
        .then(pl.lit("<1"))
        .otherwise(number)
        .fill_null("–"),
        troubles=troubles,
        marked=pl.when(troubles.str.len_chars() > MOST).then(cut).otherwise(troubles),
        genuine=theme.percent_text(),
        scored=theme.out_of("n_scored", "n_turns", "turns"),
    )


def _from_zero(numbers: pl.Series) -> list[float]:
    return [0.0, float(str(numbers.max() or 1.0))]


def _squares(table: pl.DataFrame, families: pl.DataFrame) -> Any:
    y = alt.Y("model:N", title=None, sort=theme.models_in(families, table))
    x = alt.X("temperature:O", title="temperature").axis(labelAngle=0, domain=False, ticks=False)
    width = max(LEAST_WIDTH, 110 // table["temperature"].n_unique())
    base = alt.Chart(table, width=alt.Step(width), height=alt.Step(HEIGHT)).encode(
        x=x, y=y.axis(domain=False, ticks=False)
    )
    # From 0 to the highest of the whole figure, so that parts of it on paper have the same scales.
    domain = _from_zero(table["estimate"])
    scale = alt.Scale(range=theme.PALE_TO_BLUE, interpolate="rgb", domain=domain)
    legend = alt.Legend(format="%", gradientLength=120, titleLimit=300, tickCount=2)
    colour = alt.Color("estimate:Q", title="genuine follow-ups", scale=scale, legend=legend)
    # From edge to edge: beside marks with an offset, a rectangle would have a width of its own.
    squares = base.mark_rect(stroke="white").encode(
        x=x.bandPosition(0),
        x2=alt.X2("temperature:O", bandPosition=1),
        color=colour,
        tooltip=theme.hover(*CELL_KEYS, "genuine", "scored", "troubles"),
    )
    numbers = base.mark_text(fontSize=11, dy=2, color=theme.INK).encode(text="number:N")
    troubles = base.mark_text(fontSize=11, dy=-9, color=theme.INK).encode(text="marked:N")
    interval = base.transform_fold(["lower", "upper"], as_=["end", "limit"]).mark_line(
        strokeWidth=2.5, yOffset=13, color=theme.INK
    )
    limits = alt.Scale(nice=False, padding=2, domain=_from_zero(table["upper"]))
    offset = alt.XOffset("limit:Q", scale=limits)
    return squares + numbers + troubles + interval.encode(xOffset=offset, detail=[*CELL_KEYS])


def grid_overview(rates: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw the rate of every cell with its 95% interval as a line, and mark its troubles."""
    if cell_rates(rates).is_empty():
        return theme.note(TITLE, "the grid has no cell")
    table = _cells(cell_rates(rates))
    names = theme.conditions_in(table, "perturbation")
    header = alt.Header(**theme.LEVEL, labelExpr=WORD_BY_WORD)
    rows = alt.Row("perturbation:N", title=None, sort=names, header=header)
    chart = _squares(table, families).facet(row=rows, column=theme.BY_DATASET)
    more = [
        f"judge: {judge}; percent of turns; line: 95% interval, a square is as wide as the highest",
        f"over {OVER:.0%} of turns: E empty, T cut at the limit, R refused, U unscored, X error;"
        " +: and more",
    ]
    return chart.properties(title=alt.Title(TITLE, subtitle=more))
