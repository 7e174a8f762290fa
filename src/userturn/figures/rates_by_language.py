"""Figure `rates_by_language`: follow-ups, right answers and changes of language, by language."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures.theme import (
    NOTHING,
    hover,
    in_percent,
    models_in,
    note,
    panel_width,
    plain_cells,
    temperature_row,
    titled,
    told_apart,
)
from userturn.tables.parts_of_cells import BY_LANGUAGE
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_languages", place=80, tables=("rates", "languages"))
TITLE = "By the language of the prompt"
MEASURES = {  # by the columns of the table, what the figure calls them
    "estimate": "genuine follow-ups",
    "accuracy": "right answers",
    "answered_in_another": "answers in another language",
    "turned_in_another": "turns in another language",
}
ENDS = ("_lower", "_upper")
UNKNOWN = "unknown"  # the prompt's language
FEW, STEP, LOW_STEP = 4, 9, 7  # languages, and pixels of a mark of few and of more languages


def rates_by_language(
    rates: pl.DataFrame, languages: pl.DataFrame, families: pl.DataFrame, judge: str
) -> Any:
    """Draw each measure of each language with its interval: a row a model, a panel a dataset."""
    scored = rates.filter(pl.col("scope") == BY_LANGUAGE).with_columns(language="group")
    table = pl.concat([_measures(plain_cells(rows)) for rows in (scored, languages)])
    if table["value"].count() == 0:
        return note(TITLE, NOTHING)
    models = models_in(families, table)
    told = told_apart("measure", [m for m in MEASURES.values() if m in set(table["measure"])])
    y = alt.Y("language:N", title=None, sort=table["language"].unique().sort().to_list())
    width = panel_width(table["dataset"].n_unique(), 240)
    step = STEP if table["language"].n_unique() <= FEW else LOW_STEP
    base = alt.Chart(table, width=width, height=alt.Step(step)).encode(
        y=y.axis(grid=True).scale(paddingInner=0.25),
        yOffset=alt.YOffset("measure:N", sort=list(MEASURES.values())),
        tooltip=hover("model", "dataset", "language", "measure", "share"),
    )
    x = alt.X("value:Q", title="share").axis(format="%", tickCount=4).scale(domain=[0, 1])
    bars = base.mark_rule(strokeWidth=1.4).encode(x="lower:Q", x2="upper:Q", color=told["color"])
    points = base.mark_point(filled=True, size=32, opacity=1).encode(
        x=x, color=told["color"], shape=told["shape"]
    )
    header = alt.Header(labelAngle=0, labelAlign="left", labelBaseline="middle")
    chart = alt.layer(bars, points).facet(
        row=alt.Row("model:N", title=None, sort=models, header=header),
        column=alt.Column("dataset:N", title=None),
    )
    subtitle = f"{temperature_row(languages)}; 95% intervals{_left_out(scored)}"
    return chart.properties(title=titled(TITLE, judge, subtitle))


def _measures(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per measure that a row of the table has, with its limits."""
    limits = {
        name: ("lower", "upper") if name == "estimate" else tuple(f"{name}{end}" for end in ENDS)
        for name in MEASURES
        if name in rows.columns
    }
    parts = [
        rows.select(
            "model",
            "dataset",
            pl.col("language").fill_null(UNKNOWN),
            measure=pl.lit(said),
            value=pl.col(name),
            lower=pl.col(limits[name][0]),
            upper=pl.col(limits[name][1]),
        )
        for name, said in MEASURES.items()
        if name in limits
    ]
    table = pl.concat(parts).drop_nulls("value")
    return table.with_columns(share=in_percent(("value", "lower", "upper")))


def _left_out(rows: pl.DataFrame) -> str:
    """Return why some languages have no rate of follow-ups, as part of a sentence."""
    reasons = rows.filter(pl.col("estimate").is_null())["reason"].drop_nulls().unique().sort()
    return "".join(f"; no rate where {reason}" for reason in reasons)
