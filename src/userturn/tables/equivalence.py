"""Table `equivalence`: claims that something is small, unchanged or kept, against margins.

A difference that was not detected may still exist. A claim that there is none needs a margin, which
the config gives, and holds if the interval lies within it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from userturn.config.families import baselines
from userturn.prompts.perturbations import controls_of
from userturn.stats.equivalence import LEVEL
from userturn.stats.multiple_tests import holm
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.claims import (
    accuracy_kept,
    decoupled_over_items,
    decoupled_over_models,
    near_zero,
    no_change,
)
from userturn.tables.format_columns import in_default_format, is_default
from userturn.tables.make_tables import Material
from userturn.tables.post_training import graded_shares
from userturn.tables.print_layout import number_of, p_value
from userturn.tables.report_layout import INTERVAL, TEMPERATURE, Shown, column, texts

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
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    grid, margins = material.grid, material.grid.config["statistics"].get("margins")
    if margins is None:
        return adjusted([{"reason": "the record of this study is older than the margins"}])
    members = material.table("families")
    beside = in_default_format(material.table("decoupling")).filter(pl.col("base").is_null())
    before = baselines(grid.models, grid.entries)
    rows = [
        *near_zero(material.items, margins["near_zero"]),
        *no_change(material.items, controls_of(grid.perturbations), margins["change"]),
        *accuracy_kept(graded_shares(material.grades, members), before, margins["accuracy"]),
        *decoupled_over_models(beside, margins["correlation"]),
        *decoupled_over_items(material.table("item_association"), margins["odds_ratio"]),
    ]
    return adjusted(rows)


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


def printed(table: pl.DataFrame) -> pl.DataFrame:
    """Return every claim with its interval and margins."""
    shown = [number_of(pl.col(name), 3) for name in ("estimate", *INTERVAL)]
    margins = [number_of(pl.col(f"margin_{name}"), 3) for name in ("lower", "upper")]
    return table.select(
        "claim",
        "quantity",
        pl.when(pl.col("model") == ALL).then("family").otherwise("model").fill_null("").alias("of"),
        pl.col("condition").fill_null(""),
        number_of(pl.col("temperature"), 1).alias("temperature"),
        pl.col("judge").fill_null(""),
        pl.col("n").cast(pl.String).fill_null("–").alias("items or models"),
        pl.when(pl.col("estimate").is_null())
        .then(pl.lit("–"))
        .otherwise(pl.format("{} [{}, {}]", *shown))
        .alias("estimate, 90%"),
        pl.when(pl.col("margin_lower").is_null() & pl.col("margin_upper").is_null())
        .then(pl.lit("–"))
        .otherwise(pl.format("{} to {}", *margins))
        .alias("margins"),
        p_value("p_adjusted").alias("p (Holm)"),
        pl.col("holds").fill_null("–"),
        pl.col("reason").fill_null(""),
    )


REPORTED = Shown(
    "Claims that need a margin",
    {},
    (
        *texts("claim", "quantity", "family", "model", "condition"),
        TEMPERATURE,
        *texts("judge"),
        column("items or models", "count", "n"),
        column("estimate, with its 90% interval", "number", "estimate", *INTERVAL),
        column("margin below", "number", "margin_lower"),
        column("margin above", "number", "margin_upper"),
        column("p, adjusted", "p", "p_adjusted"),
        *texts("holds", "reason"),
    ),
)
