"""Table `correlations`: rank correlations over models, and slopes over their sizes."""

from typing import Any

import numpy as np
import polars as pl

from userturn.stats.association import spearman
from userturn.stats.bootstrap import clustered_mean
from userturn.stats.proportions import Interval
from userturn.stats.rng import generator
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.decoupling import LIMITS, with_adjusted
from userturn.tables.material import Material
from userturn.tables.print_layout import number, p_value
from userturn.tables.report_layout import (
    INTERVAL,
    TEMPERATURE,
    P,
    Shown,
    column,
    texts,
)

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


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    beside = material.table("decoupling")
    return correlations(beside, material.items, material.seed, material.n_resamples)


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


def printed(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rank correlations over all graded datasets."""
    interval = pl.format("[{}, {}]", pl.col("lower").round(2), pl.col("upper").round(2))
    return table.filter(pl.col("dataset") == ALL).select(
        "x",
        "y",
        "family",
        number("temperature", 1),
        "judge",
        models="n_models",
        spearman=number("estimate"),
        interval=interval.fill_null("–"),
        p=p_value("p"),
        reason=pl.col("reason").fill_null(""),
    )


REPORTED = Shown(
    "Correlations across models",
    {"dataset": "all"},
    (
        *texts("x", "y", "family"),
        TEMPERATURE,
        *texts("judge"),
        column("models", "count", "n_models"),
        column("correlation", "number", "estimate", *INTERVAL),
        *P,
        *texts("reason"),
    ),
)
