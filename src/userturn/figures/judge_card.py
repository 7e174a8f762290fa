"""Figure `judge_card`: how accurate the judge is, by the source of the turns."""

from typing import Any

import altair as alt
import polars as pl

from userturn.controls.control_turn import HUMAN
from userturn.figures import theme
from userturn.humans.labels import PEOPLE
from userturn.study.contents import LABELLED
from userturn.tables.judges import cards
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_figures", place=60, tables=("judges",))
TITLE = "How far the judge can be believed"
SHOWN = {
    HUMAN: "human follow-ups",
    LABELLED: "labelled turns",
    PEOPLE: "people's labels",
    "planted_hard": "hard planted failures, mean over kinds",
    "planted": "copies and fixed texts, mean over kinds",
    "injected": "injections, mean over kinds",
}
MEASURES = ["sensitivity", "specificity", "right side", "right label", "kappa"]


def judge_card(judges: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw each measure of a judge's card with its interval, one mark per source of turns."""
    scored = theme.out_of("n_scored", "n_turns", "turns")
    table = cards(judges).drop_nulls("estimate")
    table = table.with_columns(
        pl.col("source").replace(SHOWN), value=theme.interval_text(), scored=scored
    )
    if table.is_empty():
        return theme.note(TITLE, "no turn of a known kind has a verdict")
    sources = [name for name in SHOWN.values() if name in set(table["source"])]
    told = theme.told_apart("source", sources)
    y = alt.Y("measure:N", title=None, sort=MEASURES).axis(grid=True)
    base = alt.Chart(table, width=420, height=alt.Step(14)).encode(
        y=y.scale(paddingInner=0.3),
        yOffset=alt.YOffset("source:N", sort=sources),
        color=told["color"],
        tooltip=theme.hover("source", "measure", "value", "scored"),
    )
    scale = alt.Scale(domain=[min(0.0, float(str(table["lower"].min() or 0))), 1.0])
    x = alt.X("estimate:Q", title="share, or kappa", scale=scale)
    one = alt.Chart().mark_rule(color=theme.INK, strokeDash=[2, 2]).encode(x=alt.datum(1))
    chart = alt.layer(one, *theme.limits_across(base, told, x), data=table)
    return chart.properties(title=theme.titled(TITLE, judge, "; 95% intervals"))
