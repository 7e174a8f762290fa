"""Figure `answer_signals`: which signal tells the right answers of an item, and what it gains."""

from typing import Any, NamedTuple

import altair as alt
import polars as pl

from userturn.figures import theme
from userturn.tables.answer_signals import AREA, CHANGE, RANDOM
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_signals", place=120, tables=("answer_signals",))
FEW, STEP, LOW_STEP = 6, 14, 10  # models, and pixels of a mark of few and of more models
TITLE = "What tells the right answers of an item"


class Measure(NamedTuple):
    """A measure, which has one column of panels."""

    name: str  # in the table
    title: str  # of the panel
    chance: float  # the value of a signal that tells nothing
    numbers: str  # what the axis writes, as an expression of Vega


MEASURES = (
    Measure(AREA, "right answer scores higher", 0.5, "format(datum.value, '.0%')"),
    Measure(
        CHANGE, "best answer less a random one, points", 0.0, "format(100 * datum.value, '.0f')"
    ),
)


def answer_signals(signals: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw both measures of every signal with their intervals, in a row of panels per dataset."""
    selected = signals.filter(
        pl.col("estimate").is_not_null(),
        (pl.col("measure") == AREA) | (pl.col("baseline") == RANDOM),
    )
    if selected.is_empty():
        return theme.note(TITLE, "no item has a right and a wrong answer")
    named = selected.with_columns(
        value=theme.interval_text(),
        mixed=pl.format("{} of {} items have right and wrong answers", "n_mixed", "n_items"),
    )
    rows = [
        alt.hconcat(*(_panel(part, m, families) for m in MEASURES), spacing=theme.SPACED)
        for part in named.partition_by("dataset", maintain_order=True)
    ]
    more = "several answers an item; 95% intervals by item; dashed: a signal that tells nothing"
    title = alt.Title(TITLE, subtitle=more)
    return alt.vconcat(*rows, spacing=theme.SPACED).properties(title=title)


def _panel(table: pl.DataFrame, measure: Measure, families: pl.DataFrame) -> Any:
    rows = table.filter(pl.col("measure") == measure.name)
    signals = table["signal"].unique(maintain_order=True).to_list()
    models = theme.models_in(families, table)
    told = theme.told_apart("model", models)
    y = alt.Y("signal:N", title=None, sort=signals).axis(grid=True, labelLimit=260)
    step = STEP if len(models) <= FEW else LOW_STEP
    base = alt.Chart(rows, width=240, height=alt.Step(step)).encode(
        y=y.scale(paddingInner=0.3, domain=signals),
        yOffset=alt.YOffset("model:N", sort=models),
        color=told["color"],
        tooltip=theme.hover("model", "signal", "value", "mixed"),
    )
    x = alt.X("estimate:Q", title=None, scale=alt.Scale(zero=False))
    x = x.axis(tickCount=5, labelFlush=False, labelExpr=measure.numbers)
    none = alt.Chart(pl.DataFrame({"chance": [measure.chance]})).encode(x="chance:Q")
    dashed = none.mark_rule(color=theme.INK, strokeDash=[2, 2])
    # Each panel names its dataset: the page puts panels below each other where it is narrow.
    title = alt.Title(measure.title, subtitle=str(table["dataset"][0]), fontSize=12, offset=6)
    return alt.layer(dashed, *theme.limits_across(base, told, x), title=title)
