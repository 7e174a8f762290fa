"""Figure `human_likeness`: how often people take a model's turn for a person's, by temperature."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures import theme
from userturn.study.cells import ALL
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_human_likeness", place=100, tables=("human_likeness",))
TITLE = "Model's turns taken for the person's"
CHANCE = 0.5
APART = 0.02  # of a temperature, between the marks of datasets


def human_likeness(table: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw the share of labels that choose the model's turn: a row per model, lines of datasets."""
    named = _named(table)
    if named["estimate"].count() == 0:
        return theme.note(TITLE, "nobody has labelled a pair yet: see docs/annotation.md")
    models = theme.models_in(families, named)
    width, height = (300, 180) if len(models) <= theme.SMALL else (200, 62)
    chart = theme.row_a_model(_layers(named, width, height), models, alt.Undefined)
    more = "share of labels; 95% intervals by pair; dashed: the two cannot be told apart"
    return chart.properties(title=alt.Title(TITLE, subtitle=more))


def _named(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each cell and, with several datasets, for each model and temperature."""
    scopes = ["cell"]
    if table.filter(pl.col("scope") == "cell")["dataset"].n_unique() > 1:
        scopes.append("model and temperature")
    named = table.filter(pl.col("scope").is_in(scopes)).with_columns(
        dataset=pl.col("dataset").replace({ALL: theme.ALL_DATASETS}),
        taken=theme.percent_text(),
        labelled=theme.out_of("n_labelled", "n_pairs", "pairs"),
        chance=pl.lit(CHANCE),
    )
    shift = APART * (pl.col("dataset").rank("dense") - 1)
    return named.with_columns(place=pl.col("temperature") + shift)


def _layers(table: pl.DataFrame, width: int, height: int) -> Any:
    told = theme.told_apart("dataset", table["dataset"].unique().sort().to_list())
    tooltip = theme.hover("model", "dataset", "temperature", "taken", "labelled")
    base = alt.Chart(table, width=width, height=height).encode(
        x=theme.temperature_axis(table), color=told["color"]
    )
    chance = alt.Chart(table).mark_rule(color=theme.INK, strokeDash=[2, 2]).encode(y="chance:Q")
    return theme.lines_with_limits(base, told, tooltip) + chance
