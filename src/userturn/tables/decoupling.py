"""Does being right go with following up: over models, over sizes of a family, over items?"""

from typing import Any

import numpy as np
import polars as pl

from userturn.stats.association import mantel_haenszel, spearman
from userturn.stats.bootstrap import clustered_mean
from userturn.stats.proportions import Interval, benjamini_hochberg, generator
from userturn.storage.parquet import Schema
from userturn.tables.contrasts import ALL, PLAIN
from userturn.tables.pooled_rates import pool

MODEL = ["model", "family", "size", "active_size"]
LIMITS = ("estimate", "lower", "upper")


def _with_all(items: pl.DataFrame, by: list[str], positive: str, seed: int, n: int) -> pl.DataFrame:
    """Return rates of each dataset, and over datasets (macro where there are several)."""
    each = pool(items, [*by, "dataset"], [positive], seed, n)
    both = pool(items, by, [positive], seed, n).with_columns(dataset=pl.lit(ALL))
    wide = (pl.col("average") == "macro") | (pl.col("n_datasets") == 1)
    return pl.concat([each, both.filter(wide).select(each.columns)])


def decoupling(
    items: pl.DataFrame, grades: pl.DataFrame, families: pl.DataFrame, seed: int, n_resamples: int
) -> pl.DataFrame:
    """Return accuracy beside the unperturbed follow-up rate of each model, dataset, temperature.

    The dataset `all` is the mean over the datasets that are graded, for both alike.
    """
    graded = grades.filter(pl.col("correct").is_not_null())
    answers = graded.select(
        "model",
        "dataset",
        "item",
        n_turns=1,
        n_scored=1,
        n_correct=pl.col("correct").cast(pl.Int32),
    )
    accuracy = _with_all(answers, ["model"], "n_correct", seed, n_resamples)
    plain = items.filter(pl.col("perturbation") == PLAIN)
    turns = plain.filter(
        pl.col("dataset").cast(pl.String).is_in(graded["dataset"].unique().to_list())
    )
    by = ["model", "temperature", "judge"]
    followup = _with_all(turns, by, "n_genuine", seed, n_resamples)
    renamed = {name: f"accuracy_{name}" for name in LIMITS}
    left = accuracy.select("model", "dataset", *LIMITS, n_graded="n_scored").rename(renamed)
    renamed = {name: f"followup_{name}" for name in LIMITS}
    right = followup.select(*by, "dataset", *LIMITS, "n_scored", "reason").rename(renamed)
    table = right.join(left, on=["model", "dataset"], how="left").join(families, on="model")
    columns = [*MODEL, "dataset", "temperature", "judge", "n_graded"]
    columns += [f"accuracy_{name}" for name in LIMITS] + ["n_scored"]
    columns += [f"followup_{name}" for name in LIMITS] + ["reason"]
    return table.select(columns).sort("judge", "temperature", "dataset", "family", "size", "model")


CORRELATION_SCHEMA: Schema = {
    "x": pl.String,
    "y": pl.String,
    "family": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "judge": pl.String,
    "n_models": pl.Int64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "slope_per_doubling": pl.Float64,
    "slope_lower": pl.Float64,
    "slope_upper": pl.Float64,
    "reason": pl.String,
}
PAIRS = [
    ("accuracy", "follow-up", "accuracy_estimate", "followup_estimate"),
    ("size", "follow-up", "size", "followup_estimate"),
    ("size", "accuracy", "size", "accuracy_estimate"),
]


def _correlate(
    group: pl.DataFrame, x: str, y: str, n_resamples: int, rng: np.random.Generator
) -> dict[str, Any]:
    seen = group.drop_nulls([x, y])
    found = spearman(seen[x].to_numpy(), seen[y].to_numpy(), n_resamples, rng)
    return {"n_models": seen.height, **found._asdict()}


def correlations(
    decoupling: pl.DataFrame, items: pl.DataFrame, seed: int, n_resamples: int
) -> pl.DataFrame:
    """Return Spearman's correlation over all models, and within each family over size.

    Size with follow-up also has the slope of the rate for each doubling of the parameters.
    """
    keys = ["family", "dataset", "temperature", "judge"]
    table = pl.concat([decoupling.with_columns(family=pl.lit(ALL)), decoupling])
    slopes = size_slopes(items, decoupling, seed, n_resamples)
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
    return with_adjusted(pl.DataFrame(rows, schema=CORRELATION_SCHEMA), ["x", "y", "judge"])


def with_adjusted(table: pl.DataFrame, within: list[str]) -> pl.DataFrame:
    """Return a table of exploring tests with Benjamini and Hochberg's adjusted p-values."""
    parts = []
    for part in table.partition_by(within, maintain_order=True):
        tested = part.filter(pl.col("p").is_not_null())
        p = pl.Series("p_adjusted", benjamini_hochberg(tested["p"].to_numpy()), dtype=pl.Float64)
        untested = part.filter(pl.col("p").is_null())
        parts.append(pl.concat([tested.with_columns(p), untested]))
    return pl.concat(parts) if parts else table


def size_slopes(
    items: pl.DataFrame, decoupling: pl.DataFrame, seed: int, n_resamples: int
) -> dict[tuple[object, ...], Interval]:
    """Return the slope of the follow-up rate over log2 of size within each family.

    The least-squares slope over models is the mean over items of each item's own slope, where
    every item was scored for every model: only such items count, and they are what is resampled.
    Families with fewer than three sizes, and families without any change, have no slope.
    """
    sizes = decoupling.select("model", "size").unique().drop_nulls()
    plain = items.filter(pl.col("perturbation") == PLAIN, pl.col("n_scored") > 0)
    table = plain.select(
        pl.col("model", "family", "dataset", "judge", "item").cast(pl.String),
        "temperature",
        share=pl.col("n_genuine") / pl.col("n_scored"),
    ).join(sizes.with_columns(pl.col("model").cast(pl.String)), on="model")
    found: dict[tuple[object, ...], Interval] = {}
    keys = ["family", "dataset", "temperature", "judge"]
    known = set(decoupling["dataset"].unique()) - {ALL}
    table = table.filter(pl.col("dataset").is_in(sorted(known)))
    pooled = table.with_columns(item=pl.format("{}/{}", "dataset", "item"), dataset=pl.lit(ALL))
    for part in (table, pooled):
        for names, group in sorted(part.partition_by(keys, as_dict=True).items()):
            slope = _slope(group, n_resamples, generator(seed, "slope", *names))
            if slope is not None:
                found[names] = slope
    return found


def _slope(group: pl.DataFrame, n_resamples: int, rng: np.random.Generator) -> Interval | None:
    models = group.select("model", x=pl.col("size").log(2)).unique()
    if models["x"].n_unique() < 3:
        return None
    x = models["x"] - models["x"].mean()
    weights = models.select("model", weight=x / (x**2).sum())
    slopes = (
        group.join(weights, on="model")
        .group_by("item")
        .agg(n=pl.len(), slope=(pl.col("weight") * pl.col("share")).sum().round(9))
        .filter(pl.col("n") == models.height)["slope"]
    )
    values = slopes.value_counts().sort("slope")
    if values.height < 2:
        return None
    counts = values["count"].cast(pl.Float64).to_numpy()
    return clustered_mean(values["slope"].to_numpy(), counts, n_resamples, rng)


ASSOCIATION_SCHEMA: Schema = {
    "family": pl.String,
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "judge": pl.String,
    "n_items": pl.Int64,
    "n_right_genuine": pl.Int64,
    "n_right_not": pl.Int64,
    "n_wrong_genuine": pl.Int64,
    "n_wrong_not": pl.Int64,
    "odds_ratio": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "phi": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "reason": pl.String,
}


def item_association(items: pl.DataFrame, grades: pl.DataFrame) -> pl.DataFrame:
    """Return the odds of following up after a right answer against a wrong one, in each model.

    One turn an item, its first sample, so that items are independent; a row a dataset, and one
    over datasets (`all`) by Mantel and Haenszel, whose four counts are the sums.
    """
    right = grades.filter(pl.col("correct").is_not_null()).select(
        "model", "dataset", "item", "correct"
    )
    turns = items.filter(pl.col("perturbation") == PLAIN, pl.col("first").is_not_null())
    texts = [
        pl.col(name).cast(pl.String) for name in ("model", "family", "dataset", "judge", "item")
    ]
    both = turns.select(*texts, "temperature", "first").join(right, on=["model", "dataset", "item"])
    keys = ["family", "model", "dataset", "temperature", "judge"]
    r, g = pl.col("correct"), pl.col("first")
    cells = both.group_by(keys).agg(
        n_right_genuine=(r & g).sum(),
        n_right_not=(r & ~g).sum(),
        n_wrong_genuine=(~r & g).sum(),
        n_wrong_not=(~r & ~g).sum(),
    )
    rows = []
    for table in (cells, cells.with_columns(dataset=pl.lit(ALL))):
        for names, group in sorted(table.partition_by(keys, as_dict=True).items()):
            counts = group.select(pl.col("^n_.*$"))
            found = mantel_haenszel(counts.to_numpy())
            row = dict(zip(keys, names, strict=True)) | counts.sum().row(0, named=True)
            rows.append(row | {"n_items": counts.sum().sum_horizontal()[0], **found._asdict()})
    table = pl.DataFrame(rows, schema=ASSOCIATION_SCHEMA)
    return with_adjusted(table, ["judge"]).sort(*keys)
