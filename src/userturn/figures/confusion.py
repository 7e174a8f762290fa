"""Figure `confusion`: labels of judges against labels of people."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from userturn.figures.theme import INK, LABEL_IN_WORDS, PALE_TO_BLUE, fixed, hover, note, save
from userturn.humans.labels import PEOPLE
from userturn.judges.rubric import read_rubric
from userturn.tables.confusion import PAIRS, SIDE
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_confusion", place=130, tables=("confusion",))
TITLE = "Labels of people and of judges"
SUBTITLE = "number: turns; colour: share of people's label, weighted to the full study"


def confusion_figure(confusion: pl.DataFrame, labels: Sequence[str]) -> Any:
    """Draw the labels of each judge (columns) against those of people (rows).

    Colours are shares of a row, weighted to the full study. Numbers are turns of the sample.
    `labels` are the rubric's, in the order of both axes.
    """
    of_people = pl.col("comparison") == "judge-human", pl.col("first") == PEOPLE
    table = confusion.filter(pl.col("part") == PAIRS, *of_people)
    if table.is_empty():
        return note(TITLE, "no annotations yet: see docs/annotation.md")
    named = table.with_columns(
        judge=pl.col("second"),
        people=pl.col("label_first"),
        label=pl.col("label_second"),
        turns=pl.col("n"),
        share=pl.format("{}%", fixed(100 * pl.col("share_of_first"), 1)),
    )
    across, down = (
        alt.Axis(labelAngle=angle, labelExpr=LABEL_IN_WORDS, grid=False) for angle in (-35, 0)
    )
    base = alt.Chart(named, width=SIDE * len(labels), height=SIDE * len(labels)).encode(
        x=alt.X("label_second:N", title="label of the judge", sort=[*labels], axis=across),
        y=alt.Y("label_first:N", title="label of people", sort=[*labels], axis=down),
        tooltip=hover("judge", "people", "label", "turns", "share"),
    )
    share = alt.Color(
        "share_of_first:Q",
        title="share",
        scale=alt.Scale(domain=[0, 1], range=PALE_TO_BLUE),
        legend=alt.Legend(format="%"),
    )
    numbers = base.mark_text(fontSize=12, color=INK).encode(text="n:Q")
    squares = base.mark_rect(stroke="white").encode(color=share)
    chart = (squares + numbers).facet(column=alt.Column("judge:N", title=None))
    return chart.properties(title=alt.Title(TITLE, subtitle=SUBTITLE))


def draw_confusion(
    identity: str, path_to_confusion: str, path_to_rubric: str, paths_to_figure: Sequence[str]
) -> None:
    """Write the figure of judges' labels against people's, in the format that each path ends in."""
    labels = list(read_rubric(path_to_rubric).labels)
    chart = confusion_figure(pl.read_parquet(path_to_confusion), labels)
    save(chart, identity, map(str, paths_to_figure))
