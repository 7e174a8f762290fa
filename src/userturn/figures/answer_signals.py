"""Figure `answer_signals`: which signal tells the right answers of an item, and what it gains."""

from typing import Any, NamedTuple

import altair as alt
import polars as pl

from userturn.figures.theme import INK, SPACED, hover, models_in, note, told_apart, with_limits
from userturn.tables.answer_signals import AREA, CHANGE, RANDOM
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_signals", place=120, tables=("answer_signals",))
FEW, STEP, LOW_STEP = 6, 14, 10  # models, and pixels of a mark of few and of more models
TITLE = "What tells the right answers of an item"


class Measure(NamedTuple):
    """One column of panels.

    Attributes:
        name: in the table.
        title: of the panel.
        chance: the value of a signal that tells nothing.
        numbers: what the axis writes, as an expression of Vega.
    """

    name: str
    title: str
    chance: float
    numbers: str


MEASURES = (
    Measure(AREA, "right answer scores higher", 0.5, "format(datum.value, '.0%')"),
    Measure(
        CHANGE, "best answer less a random one, points", 0.0, "format(100 * datum.value, '.0f')"
    ),
)


def answer_signals(signals: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw both measures of every signal with their intervals: a row of panels a dataset."""
    drawn = signals.filter(
        pl.col("estimate").is_not_null(),
        (pl.col("measure") == AREA) | (pl.col("baseline") == RANDOM),
    )
    if drawn.is_empty():
        return note(TITLE, "no item has a right and a wrong answer")
    named = drawn.with_columns(
        value=with_limits(),
        mixed=pl.format("{} of {} items have right and wrong answers", "n_mixed", "n_items"),
    )
    rows = [
        alt.hconcat(*(_panel(part, m, families) for m in MEASURES), spacing=SPACED)
        for part in named.partition_by("dataset", maintain_order=True)
    ]
    more = "several answers an item; 95% intervals by item; dashed: a signal that tells nothing"
    title = alt.Title(TITLE, subtitle=more)
    return alt.vconcat(*rows, spacing=SPACED).properties(title=title)


def _panel(table: pl.DataFrame, measure: Measure, families: pl.DataFrame) -> Any:
    """Return one measure of every signal of a dataset, one mark per model."""
    shown = table.filter(pl.col("measure") == measure.name)
    signals = table["signal"].unique(maintain_order=True).to_list()
    models = models_in(families, table)
    told = told_apart("model", models)
    y = alt.Y("signal:N", title=None, sort=signals).axis(grid=True, labelLimit=260)
    step = STEP if len(models) <= FEW else LOW_STEP
    base = alt.Chart(shown, width=240, height=alt.Step(step)).encode(
        y=y.scale(paddingInner=0.3, domain=signals),
        yOffset=alt.YOffset("model:N", sort=models),
        tooltip=hover("model", "signal", "value", "mixed"),
    )
    scale = alt.Scale(zero=False)
    x = alt.X("estimate:Q", title=None, scale=scale)
    bars = base.mark_rule(strokeWidth=1.6).encode(x="lower:Q", x2="upper:Q", color=told["color"])
    points = base.mark_point(filled=True, size=40, opacity=1).encode(
        x=x.axis(tickCount=5, labelFlush=False, labelExpr=measure.numbers),
        color=told["color"],
        shape=told["shape"],
    )
    none = alt.Chart(pl.DataFrame({"chance": [measure.chance]})).mark_rule(
        color=INK, strokeDash=[2, 2]
    )
    # Each panel names its dataset: the page puts panels below each other where it is narrow.
    title = alt.Title(measure.title, subtitle=str(table["dataset"][0]), fontSize=12, offset=6)
    return alt.layer(none.encode(x="chance:Q"), bars, points, title=title)
