"""Figure `rates_by_language`: follow-ups, right answers and changes of language, by language."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures import theme
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
UNKNOWN = "unknown"  # the prompt's language
FEW, STEP, LOW_STEP = 4, 9, 7  # languages, and pixels of a mark of few and of more languages


def rates_by_language(
    rates: pl.DataFrame, languages: pl.DataFrame, families: pl.DataFrame, judge: str
) -> Any:
    """Draw each measure per language with its interval: a row per model, a panel per dataset."""
    scored = rates.filter(pl.col("scope") == BY_LANGUAGE).with_columns(language="group")
    table = pl.concat([_measures(theme.plain_cells(rows)) for rows in (scored, languages)])
    if table["value"].count() == 0:
        return theme.note(TITLE, theme.NOTHING)
    told = theme.told_apart("measure", [m for m in MEASURES.values() if m in set(table["measure"])])
    y = alt.Y("language:N", title=None, sort=table["language"].unique().sort().to_list())
    width = theme.panel_width(table["dataset"].n_unique(), 240)
    step = STEP if table["language"].n_unique() <= FEW else LOW_STEP
    base = alt.Chart(table, width=width, height=alt.Step(step)).encode(
        y=y.axis(grid=True).scale(paddingInner=0.25),
        yOffset=alt.YOffset("measure:N", sort=list(MEASURES.values())),
        color=told["color"],
        tooltip=theme.hover("model", "dataset", "language", "measure", "share"),
    )
    x = alt.X("value:Q", title="share").axis(format="%", tickCount=4).scale(domain=[0, 1])
    marks = alt.layer(*theme.limits_across(base, told, x, 1.4, 32))
    chart = theme.row_a_model(marks, theme.models_in(families, table))
    reasons = scored.filter(pl.col("estimate").is_null())["reason"].drop_nulls().unique().sort()
    subtitle = f"{theme.temperature_row(languages)}; 95% intervals"
    subtitle += "".join(f"; no rate where {reason}" for reason in reasons)
    return chart.properties(title=theme.titled(TITLE, judge, subtitle))


def _measures(rows: pl.DataFrame) -> pl.DataFrame:
    named = ("model", "dataset", pl.col("language").fill_null(UNKNOWN))
    table = theme.row_a_measure(rows, MEASURES, *named).drop_nulls("estimate")
    return table.with_columns(share=theme.percent_text()).rename({"estimate": "value"})
