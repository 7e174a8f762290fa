"""Table `equivalence`: claims that something is small, unchanged or kept, against margins.

A difference that was not detected may still exist. A claim that there is none needs a margin, which
the config gives, and holds if the interval lies within it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from userturn.config.families import trainings
from userturn.prompts.perturbations import controls_of
from userturn.stats.equivalence import LEVEL
from userturn.stats.multiple_tests import holm
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL
from userturn.tables.claims import (
    accuracy_kept,
    decoupled_over_items,
    decoupled_over_models,
    near_zero,
    no_change,
)
from userturn.tables.contrasts import graded_answers
from userturn.tables.decoupling import OF_A_MODEL, OVER_ITEMS
from userturn.tables.exposure import SEEN, mark_seen
from userturn.tables.format_columns import in_default_format, is_default
from userturn.tables.item_counts import VERIFIER
from userturn.tables.judge_validity import shown_judges
from userturn.tables.layout import (
    DASH,
    INTERVAL,
    TEMPERATURE,
    Layout,
    P,
    column,
    number,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.workflow.registry import Table

TABLE = Table(
    rule="compare_with_margins",
    place=80,
    row="a claim that something is small, unchanged or kept",
    made_of=("verdicts", "grades", "families", "decoupling", "judges", "copies"),
    settings=("bases", "trainings", "exposure", "controls", "margins", "thresholds"),
    formats=(".parquet", ".csv", ".md", ".tex"),
    version=4,
)
MEANINGS = {
    "quantity": "the quantity that the claim is about",
    "estimate": "estimate of the quantity",
    "lower": "lower limit of the 90% interval",
    "upper": "upper limit of the 90% interval",
    "p": "p-value of the two one-sided tests against the margins",
    "holds": "yes, no or undecided; unknown where the judge is not validated",
    "p_adjusted": "p-value adjusted by Holm over the quantity and judge",
}
NOT_SHOWN = "the judge is not validated, so its rates are not known to be the true ones"
SCHEMA: Schema = {
    **dict.fromkeys(("claim", "quantity", "family", "model", "condition", "baseline"), pl.String),
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "judge": pl.String,
    "n": pl.Int64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "margin_lower": pl.Float64,
    "margin_upper": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "holds": pl.String,
    "reason": pl.String,
    **SEEN,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    grid, margins = material.grid, material.grid.config["statistics"].get("margins")
    if margins is None:
        return adjusted([{"reason": "the record of this study is older than the margins"}])
    members = material.table("families")
    found = material.table("decoupling")
    models = in_default_format(found.filter(pl.col("over") == OF_A_MODEL))
    beside = models.filter(pl.col("base").is_null())
    recipes = trainings(grid.models, grid.entries)
    rows = [
        *near_zero(material.items, margins["near_zero"]),
        *no_change(material.items, controls_of(grid.perturbations), margins["change"]),
        *accuracy_kept(graded_answers(material.grades, members), recipes, margins["accuracy"]),
        *decoupled_over_models(beside, margins["correlation"]),
        *decoupled_over_items(found.filter(pl.col("over") == OVER_ITEMS), margins["odds_ratio"]),
    ]
    grades = [VERIFIER, *shown_judges(material.table("judges"), grid)]
    claims = of_shown_judges(adjusted(rows), grades).drop(list(SEEN))
    over_all = claims.with_columns(dataset=pl.lit(ALL))
    told = mark_seen(over_all, grid.entries, grid.contents.recipes, grid.datasets, "model")
    return told.drop("dataset")


def of_shown_judges(claims: pl.DataFrame, judges: Sequence[str]) -> pl.DataFrame:
    """Return claims of which those by other judges than these are not known to hold or not."""
    unknown = pl.col("holds").is_not_null() & ~pl.col("judge").is_in(judges)
    return claims.with_columns(
        holds=pl.when(unknown).then(pl.lit("unknown")).otherwise("holds"),
        reason=pl.when(unknown).then(pl.lit(NOT_SHOWN)).otherwise("reason"),
    )


def adjusted(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return claims with p adjusted by Holm for each quantity and judge, and the outcome.

    Claims about other formats than the default are adjusted apart.

    A claim holds if its adjusted p is below 0.05. It does not hold if the interval lies wholly
    outside the margins. Otherwise it is undecided.
    """
    table = pl.DataFrame(rows, schema=SCHEMA).with_row_index("place")
    parts = [table.filter(pl.col("p").is_null())]
    tested = table.filter(pl.col("p").is_not_null())
    is_usual = is_default("family").fill_null(value=True)
    sets = tested.with_columns(is_usual=is_usual).partition_by(
        "quantity", "judge", "is_usual", maintain_order=True
    )
    for part in sets:
        p_adjusted = holm(part["p"].to_numpy())
        parts.append(part.drop("is_usual").with_columns(p_adjusted=p_adjusted))
    holds = pl.when(pl.col("p_adjusted") < LEVEL).then(pl.lit("yes")).otherwise("holds")
    return pl.concat(parts).sort("place").with_columns(holds=holds).drop("place")


MARGINS = ("margin_lower", "margin_upper")
LAYOUT = Layout(
    "Claims that need a margin",
    {},
    (
        *texts("claim", "quantity"),
        *reported(*texts("family", "model")),
        printed_only(
            "of", "text", text=pl.when(pl.col("model") == ALL).then("family").otherwise("model")
        ),
        *texts("condition"),
        TEMPERATURE,
        *texts("judge"),
        column("items or models", "count", "n", text=pl.col("n").cast(pl.String).fill_null(DASH)),
        column(
            "estimate, with its 90% interval",
            "number",
            "estimate",
            *INTERVAL,
            printed="estimate, 90%",
            text=number("estimate", *INTERVAL, digits=3),
        ),
        *reported(
            column("margin below", "number", "margin_lower"),
            column("margin above", "number", "margin_upper"),
        ),
        printed_only(
            "margins",
            "number",
            text=pl.when(pl.all_horizontal(pl.col(MARGINS).is_null()))
            .then(pl.lit(DASH))
            .otherwise(pl.format("{} to {}", *(number(name, digits=3) for name in MARGINS))),
        ),
        P[1],
        column("holds", "text", text=pl.col("holds").fill_null(DASH)),
        *texts("reason"),
    ),
)
