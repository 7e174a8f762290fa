"""Accuracy beside the follow-up rate of each model and dataset."""

import polars as pl

from userturn.stats.multiple_tests import benjamini_hochberg
from userturn.stats.proportions import Array
from userturn.storage.table_files import ANSWER_KEYS, Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.item_counts import count_answers
from userturn.tables.pooling import AVERAGES, pool

LIMITS = ("estimate", "lower", "upper")
BESIDE: Schema = {
    "model": pl.String,
    "family": pl.String,
    "size": pl.Float64,
    "active_size": pl.Float64,
    "base": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "judge": pl.String,
    "n_graded": pl.Int64,
    **{f"accuracy_{name}": pl.Float64 for name in LIMITS},
    "n_scored": pl.Int64,
    **{f"followup_{name}": pl.Float64 for name in LIMITS},
    "reason": pl.String,
}


def _with_all(items: pl.DataFrame, by: list[str], positive: str) -> pl.DataFrame:
    """Return rates of each dataset, and over the turns of all."""
    each = pool(items, [*by, "dataset"], [positive], AVERAGES[:1])
    both = pool(items, by, [positive], AVERAGES[:1]).with_columns(dataset=pl.lit(ALL))
    return pl.concat([each, both.select(each.columns)])


def of_graded_items(items: pl.DataFrame, grades: pl.DataFrame) -> pl.DataFrame:
    """Return the unperturbed turns of the items whose answers by the same model were graded.

    Of a conversation or a problem some answer was graded.
    """
    graded = count_answers(grades).filter(pl.col("n_scored") > 0)
    graded = graded.select(pl.col(name).cast(items.schema[name]) for name in ANSWER_KEYS)
    plain = items.filter(pl.col("perturbation") == PLAIN)
    return plain.join(graded, on=ANSWER_KEYS, how="semi", maintain_order="left")


def beside_accuracy(
    items: pl.DataFrame, grades: pl.DataFrame, families: pl.DataFrame
) -> pl.DataFrame:
    """Return accuracy beside the unperturbed follow-up rate of each model, dataset, temperature.

    Both are over the same items, those that were graded; the dataset `all` is over the answers,
    and the turns, of all graded datasets.
    """
    answers = count_answers(grades)
    accuracy = _with_all(answers, ["model"], "n_genuine")
    turns = of_graded_items(items, grades)
    by = ["model", "temperature", "judge"]
    followup = _with_all(turns, by, "n_genuine")
    renamed = {name: f"accuracy_{name}" for name in LIMITS}
    left = accuracy.select("model", "dataset", *LIMITS, n_graded="n_scored").rename(renamed)
    renamed = {name: f"followup_{name}" for name in LIMITS}
    right = followup.select(*by, "dataset", *LIMITS, "n_scored", "reason").rename(renamed)
    table = right.join(left, on=["model", "dataset"], how="left").join(families, on="model")
    return table.select(list(BESIDE)).sort(
        "judge", "temperature", "dataset", "family", "size", "model"
    )


def limits_over_models(models: pl.DataFrame, name: str) -> tuple[Array, Array, Array]:
    """Return the models' estimates, lower and upper limits of `accuracy` or `followup`."""
    estimate, lower, upper = (models[f"{name}_{part}"].cast(pl.Float64) for part in LIMITS)
    return estimate.to_numpy(), lower.to_numpy(), upper.to_numpy()


def with_adjusted(table: pl.DataFrame, within: list[str]) -> pl.DataFrame:
    """Return a table of exploratory tests with Benjamini and Hochberg's adjusted p-values."""
    parts = []
    for part in table.partition_by(within, maintain_order=True):
        tested = part.filter(pl.col("p").is_not_null())
        p = pl.Series("p_adjusted", benjamini_hochberg(tested["p"].to_numpy()), dtype=pl.Float64)
        untested = part.filter(pl.col("p").is_null())
        parts.append(pl.concat([tested.with_columns(p), untested]))
    return pl.concat(parts) if parts else table
