"""Confusion of judges and people, as a table and as a figure."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from userturn.annotation import read_rubric
from userturn.comparisons import NO_LABELS, comparisons
from userturn.drawing import COLOURS, INK, note, save
from userturn.human_labels import PEOPLE
from userturn.tables import Schema

SIDE = 46  # of a square
CONFUSION_SCHEMA: Schema = {
    "comparison": pl.String,
    "first": pl.String,
    "second": pl.String,
    "label_first": pl.String,
    "label_second": pl.String,
    "n": pl.Int64,
    "weight": pl.Float64,
    "share_of_first": pl.Float64,
    "reason": pl.String,
}


def confusion(labelled: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return how often two raters gave each pair of labels: people's labels first."""
    tables = []
    for kind, first, second, table, raters in comparisons(labelled, judged):
        if first == PEOPLE:
            continue
        if kind == "judge-human":
            first, second, raters = second, first, raters[::-1]
        pairs = table.drop_nulls(raters).group_by(
            pl.col(raters[0]).alias("label_first"), pl.col(raters[1]).alias("label_second")
        )
        counts = pairs.agg(n=pl.len(), weight=pl.sum("weight")).with_columns(
            comparison=pl.lit(kind),
            first=pl.lit(first),
            second=pl.lit(second),
            share_of_first=pl.col("weight") / pl.col("weight").sum().over("label_first"),
            reason=pl.lit(None, pl.String),
        )
        tables.append(counts.sort("label_first", "label_second"))
    if "judge-human" not in {table["comparison"][0] for table in tables if table.height}:
        nothing = pl.DataFrame({"comparison": ["judge-human"], "reason": [NO_LABELS]})
        tables.append(nothing)
    filled = pl.concat(tables, how="diagonal_relaxed")
    return pl.DataFrame(
        {n: filled[n] if n in filled.columns else [None] * filled.height for n in CONFUSION_SCHEMA}
    ).cast(pl.Schema(CONFUSION_SCHEMA))


def confusion_figure(confusion: pl.DataFrame, labels: Sequence[str]) -> Any:
    """Draw each judge against people: rows sum to all of people's label, numbers are turns.

    Shares are weighted to the full study; the numbers are those of the sample.
    """
    table = confusion.filter(pl.col("comparison") == "judge-human", pl.col("first") == PEOPLE)
    if table.is_empty():
        return note("no annotations yet: docs/annotation.md tells how to begin")
    named = table.with_columns(judge=pl.col("second"))
    base = alt.Chart(named, width=SIDE * len(labels), height=SIDE * len(labels)).encode(
        x=alt.X("label_second:N", title="label of the judge", sort=[*labels], axis=_axis(-35)),
        y=alt.Y("label_first:N", title="label of people", sort=[*labels], axis=_axis(0)),
    )
    share = alt.Color(
        "share_of_first:Q",
        title="share of people's label",
        scale=alt.Scale(domain=[0, 1], range=["#F7F7F7", COLOURS[0]]),
        legend=alt.Legend(format="%"),
    )
    is_dark = alt.datum.share_of_first > 0.55
    numbers = base.mark_text(fontSize=12).encode(
        text="n:Q", color=alt.when(is_dark).then(alt.value("white")).otherwise(alt.value(INK))
    )
    squares = base.mark_rect(stroke="white").encode(color=share)
    return (squares + numbers).facet(column=alt.Column("judge:N", title=None))


def _axis(angle: int) -> Any:
    return alt.Axis(labelAngle=angle, labelExpr="replace(datum.label, /_/g, ' ')", grid=False)


def draw_confusion(
    identity: str,
    path_to_confusion: str,
    path_to_rubric: str,
    path_to_vega_lite: str,
    path_to_svg: str,
    path_to_png: str,
) -> None:
    """Draw the confusion of judges and people."""
    chart = confusion_figure(pl.read_parquet(path_to_confusion), list(read_rubric(path_to_rubric)))
    save(chart, identity, path_to_vega_lite, path_to_svg, path_to_png)
