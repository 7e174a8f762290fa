"""Accuracy beside follow-up rate, rank correlations over models, and slopes over their sizes."""

from typing import Any

import numpy as np
import polars as pl

from userturn.stats.association import attenuation, drop_biased_interval, spearman
from userturn.stats.margins import Counts, combination
from userturn.stats.proportions import Array, Interval
from userturn.stats.rng import generator
from userturn.stats.significance import benjamini_hochberg
from userturn.storage.table_files import ANSWER_KEYS, Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.turn_rates import AVERAGES, count_answers, pool

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


def _rates_with_pool(items: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    each = pool(items, [*by, "dataset"], ["n_genuine"], AVERAGES[:1])
    both = pool(items, by, ["n_genuine"], AVERAGES[:1]).with_columns(dataset=pl.lit(ALL))
    return pl.concat([each, both.select(each.columns)])


def turns_of_graded_items(items: pl.DataFrame, grades: pl.DataFrame) -> pl.DataFrame:
    """Return the unperturbed turns of the items whose answers by the same model were graded.

    A conversation or problem counts as graded if any of its answers was.
    """
    graded = count_answers(grades).filter(pl.col("n_scored") > 0)
    graded = graded.select(pl.col(name).cast(items.schema[name]) for name in ANSWER_KEYS)
    plain = items.filter(perturbation=PLAIN)
    return plain.join(graded, on=ANSWER_KEYS, how="semi", maintain_order="left")


def accuracy_and_follow_ups(
    items: pl.DataFrame, grades: pl.DataFrame, families: pl.DataFrame
) -> pl.DataFrame:
    """Return accuracy beside unperturbed follow-up rate per model, dataset, temperature and judge.

    Both are over the same items, those that were graded. The dataset `all` is over the answers, and
    the turns, of all graded datasets.
    """
    answers = count_answers(grades)
    accuracy = _rates_with_pool(answers, ["model"])
    turns = turns_of_graded_items(items, grades)
    by = ["model", "temperature", "perturbation", "judge"]
    followup = _rates_with_pool(turns, by)
    renamed = {name: f"accuracy_{name}" for name in LIMITS}
    left = accuracy.select("model", "dataset", *LIMITS, n_graded="n_scored").rename(renamed)
    renamed = {name: f"followup_{name}" for name in LIMITS}
    right = followup.select(*by, "dataset", *LIMITS, "n_scored", "reason").rename(renamed)
    table = right.join(left, on=["model", "dataset"], how="left").join(families, on="model")
    return table.select(list(BESIDE)).sort(
        "judge", "temperature", "dataset", "family", "size", "model"
    )


def limits_over_models(models: pl.DataFrame, name: str) -> tuple[Array, Array, Array]:
    """Return arrays of the models' estimates and limits, of `accuracy` or `followup`."""
    estimate, lower, upper = (models[f"{name}_{part}"].cast(pl.Float64) for part in LIMITS)
    return estimate.to_numpy(), lower.to_numpy(), upper.to_numpy()


def add_adjusted_p(table: pl.DataFrame, within: list[str]) -> pl.DataFrame:
    """Return a table with `p_adjusted`, by Benjamini and Hochberg over rows with equal `within`."""
    parts = []
    for part in table.partition_by(within, maintain_order=True):
        tested = part.filter(pl.col("p").is_not_null())
        p = pl.Series("p_adjusted", benjamini_hochberg(tested["p"].to_numpy()), dtype=pl.Float64)
        untested = part.filter(pl.col("p").is_null())
        parts.append(pl.concat([tested.with_columns(p), untested]))
    return pl.concat(parts) if parts else table


CORRELATED: Schema = {
    **dict.fromkeys(("x", "y", "family", "dataset"), pl.String),
    "temperature": pl.Float64,
    "judge": pl.String,
    "n_models": pl.Int64,
    **dict.fromkeys(("estimate", "lower", "upper", "p", "p_adjusted"), pl.Float64),
    **dict.fromkeys(("slope_per_doubling", "slope_lower", "slope_upper"), pl.Float64),
    "attenuation": pl.Float64,
    "note": pl.String,
    "reason": pl.String,
}

FLOOR = 0.05  # a rate is at its floor if its upper limit is below
PAIRS = [
    ("accuracy", "follow-up", "accuracy_estimate", "followup_estimate"),
    ("size", "follow-up", "size", "followup_estimate"),
    ("size", "accuracy", "size", "accuracy_estimate"),
]


def _correlate(
    group: pl.DataFrame, x: str, y: str, n_resamples: int, rng: np.random.Generator
) -> dict[str, Any]:
    seen = group.drop_nulls([x, y])
    measured = [name.removesuffix("_estimate") for name in (x, y) if name != "size"]
    factor = attenuation([limits_over_models(seen, name) for name in measured])
    families = seen["of_family"].to_list()
    correlation = spearman(
        seen[x].to_numpy(), seen[y].to_numpy(), n_resamples, rng, families=families
    )
    row = {
        "n_models": seen.height,
        **drop_biased_interval(correlation, factor)._asdict(),
        "attenuation": factor,
    }
    return row | {"note": _floor(seen) if "followup" in measured else None}


def _floor(models: pl.DataFrame) -> str | None:
    """Return a note if half of the follow-up rates or more lie at their floor."""
    n_low = int((models["followup_upper"] < FLOOR).sum())
    if not n_low or 2 * n_low < models.height or models.height < 2:
        return None
    return f"follow-up is at its floor, below {FLOOR:.0%}, in {n_low} of {models.height} models"


def correlations(
    beside: pl.DataFrame, items: pl.DataFrame, seed: int, n_resamples: int
) -> pl.DataFrame:
    """Return Spearman's correlations over all models, and within each family over size.

    `beside` is the result of `accuracy_and_follow_ups`, and `items` are counted items.
    The row of size with follow-up also has the slope of the rate per doubling of the parameters.
    Correlations over all models leave out models that name a base, since they are not independent
    of it. Limits allow for the likeness of models of one family (`spearman`).
    """
    keys = ["family", "dataset", "temperature", "judge"]
    of_one = beside.with_columns(of_family="family")
    original = of_one.filter(pl.col("base").is_null()).with_columns(family=pl.lit(ALL))
    table = pl.concat([original, of_one])
    slopes = size_slopes(items, beside)
    rows = []
    for names, group in sorted(table.partition_by(keys, as_dict=True).items()):
        for x, y, first, second in PAIRS:
            rng = generator(seed, "spearman", x, y, *names)
            row: dict[str, Any] = {"x": x, "y": y, **dict(zip(keys, names, strict=True))}
            row |= _correlate(group, first, second, n_resamples, rng)
            slope = slopes.get(names) if (x, y) == ("size", "follow-up") else None
            for name, value in zip(LIMITS, slope or (), strict=False):
                row["slope_per_doubling" if name == "estimate" else f"slope_{name}"] = value
            rows.append(row)
    return add_adjusted_p(pl.DataFrame(rows, schema=CORRELATED), ["x", "y", "judge"])


def size_slopes(items: pl.DataFrame, beside: pl.DataFrame) -> dict[tuple[object, ...], Interval]:
    """Return the slope of the follow-up rate over log2 of size, by family and dataset.

    The keys are family, dataset (or `all`), temperature and judge. Families with fewer than three
    sizes have no slope.
    """
    sizes = beside.select("model", "size").unique().drop_nulls()
    plain = items.filter(pl.col("n_scored") > 0, perturbation=PLAIN)
    counts = [pl.col(name).cast(pl.Float64) for name in ("n_scored", "n_genuine")]
    keys = ["family", "dataset", "temperature", "judge"]
    table = plain.select("model", *keys, "item", *counts, source="dataset")
    table = table.filter(pl.col("dataset").is_in(beside["dataset"].unique().to_list()))
    table = table.join(sizes.with_columns(pl.col("model").cast(table.schema["model"])), on="model")
    slopes = {
        names: _slope(group)
        for both in (table, table.with_columns(dataset=pl.lit(ALL)))
        for names, group in both.partition_by(keys, as_dict=True).items()
    }
    return {names: slope for names, slope in slopes.items() if slope is not None}


def _slope(group: pl.DataFrame) -> Interval | None:
    """Return the least-squares slope of rates over log2 of size, or None below three sizes."""
    sizes = group.select("model", "size").unique().sort("size", "model")
    x = np.log2(sizes["size"].to_numpy())
    if len(np.unique(x)) < 3:
        return None
    wide = group.pivot("model", index=["source", "item"], values=["n_scored", "n_genuine"])
    wide = wide.sort("source", "item").fill_null(0.0)
    turns, positive = (
        wide.select(f"{name}_{model}" for model in sizes["model"]).to_numpy()
        for name in ("n_scored", "n_genuine")
    )
    deviations = x - x.mean()
    counts = Counts(np.ones(len(turns)), turns, positive)
    return combination(counts, deviations / (deviations @ deviations))
