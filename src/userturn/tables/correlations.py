"""Table `correlations`: rank correlations over models, and slopes over their sizes."""

from typing import Any

import numpy as np
import polars as pl

from userturn.stats.association import attenuation, of_measured, spearman
from userturn.stats.clustered import mean_share
from userturn.stats.combinations import combine
from userturn.stats.proportions import Interval
from userturn.stats.rng import generator
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.decoupling import (
    LIMITS,
    limits_over_models,
    of_graded_items,
    with_adjusted,
)
from userturn.tables.format_columns import in_default_format
from userturn.tables.layout import (
    INTERVAL,
    TEMPERATURE,
    Layout,
    P,
    column,
    limits,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="analyse",
    place=70,
    row=("two of accuracy, follow-up rate and size, over all models or those of a family"),
    made_of=("verdicts", "grades", "decoupling", "judge_card"),
    settings=("seed", "resamples", "thresholds"),
    formats=(".parquet", ".csv", ".md", ".tex"),
)
MEANINGS = {
    "estimate": "Spearman's rank correlation",
    "note": ("where the rates are at their floor, or sampling leaves little of a correlation"),
}
SCHEMA: Schema = {
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


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    beside = in_default_format(material.table("decoupling"))
    items = of_graded_items(in_default_format(material.items), material.grades)
    return correlations(beside, items, material.seed, material.n_resamples)


def _correlate(
    group: pl.DataFrame, x: str, y: str, n_resamples: int, rng: np.random.Generator
) -> dict[str, Any]:
    seen = group.drop_nulls([x, y])
    measured = [name.removesuffix("_estimate") for name in (x, y) if name != "size"]
    factor = attenuation([limits_over_models(seen, name) for name in measured])
    found = spearman(seen[x].to_numpy(), seen[y].to_numpy(), n_resamples, rng)
    row = {"n_models": seen.height, **of_measured(found, factor)._asdict(), "attenuation": factor}
    return row | {"note": _floor(seen) if "followup" in measured else None}


def _floor(models: pl.DataFrame) -> str | None:
    """Return a note where half of the follow-up rates or more lie at their floor."""
    n_low = int((models["followup_upper"] < FLOOR).sum())
    if not n_low or 2 * n_low < models.height or models.height < 2:
        return None
    return f"follow-up is at its floor, below {FLOOR:.0%}, in {n_low} of {models.height} models"


def correlations(
    decoupling: pl.DataFrame, items: pl.DataFrame, seed: int, n_resamples: int
) -> pl.DataFrame:
    """Return Spearman's correlation over all models, and within each family over size.

    The row of size with follow-up also has the slope of the rate per doubling of the parameters.
    Correlations over all models leave out those that name a base: they are not independent of it.
    """
    keys = ["family", "dataset", "temperature", "judge"]
    original = decoupling.filter(pl.col("base").is_null()).with_columns(family=pl.lit(ALL))
    table = pl.concat([original, decoupling])
    slopes = size_slopes(items, decoupling)
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
    return with_adjusted(pl.DataFrame(rows, schema=SCHEMA), ["x", "y", "judge"])


def size_slopes(
    items: pl.DataFrame, decoupling: pl.DataFrame
) -> dict[tuple[object, ...], Interval]:
    """Return the slope of the follow-up rate over log2 of size within each family.

    For all datasets together (`all`) it is the mean of the datasets' slopes, like the rates.
    Families with fewer than three sizes have no slope.
    """
    sizes = decoupling.select("model", "size").unique().drop_nulls()
    plain = items.filter(pl.col("perturbation") == PLAIN, pl.col("n_scored") > 0)
    table = plain.select(
        pl.col("model", "family", "dataset", "judge", "item").cast(pl.String),
        "temperature",
        "n_scored",
        share=pl.col("n_genuine") / pl.col("n_scored"),
    ).join(sizes.with_columns(pl.col("model").cast(pl.String)), on="model")
    keys = ["family", "dataset", "temperature", "judge"]
    known = sorted(set(decoupling["dataset"].unique()) - {ALL})
    parts = table.filter(pl.col("dataset").is_in(known)).partition_by(keys, as_dict=True)
    found: dict[tuple[object, ...], Interval] = {}
    for (family, dataset, *rest), group in sorted(parts.items()):
        slope = _slope(group)
        if slope is not None:
            found[family, dataset, *rest] = slope
    over: dict[tuple[object, ...], list[Interval]] = {}
    for (family, _, *rest), slope in found.items():
        over.setdefault((family, ALL, *rest), []).append(slope)
    return found | {key: _mean(slopes) for key, slopes in over.items()}


def _mean(slopes: list[Interval]) -> Interval:
    return combine(slopes, np.full(len(slopes), 1 / len(slopes)))


def _slope(group: pl.DataFrame) -> Interval | None:
    """Return the least-squares slope of the models' rates over log2 of size.

    It is a sum of the rates with fixed weights. Its limits follow from those of the rates
    (`combinations`), with the correlations that come from sharing the same items.
    """
    sizes = group.select("model", "size").unique().sort("size", "model")
    x = np.log2(sizes["size"].to_numpy())
    if len(np.unique(x)) < 3:
        return None
    wide = group.sort("item").pivot("model", index="item", values=["share", "n_scored"])
    wide = wide.drop_nulls()
    if wide.is_empty():
        return None
    names = sizes["model"].to_list()
    shares = wide.select(f"share_{name}" for name in names).to_numpy()
    turns = wide.select(f"n_scored_{name}" for name in names).mean().row(0)
    once = np.ones(len(shares))
    rates = [mean_share(shares[:, i], once, turns[i]) for i in range(len(names))]
    deviations = x - x.mean()
    return combine(rates, deviations / (deviations @ deviations), _correlations(shares))


def _correlations(columns: np.ndarray) -> np.ndarray:
    """Return the correlation matrix of columns; 0 for a constant column."""
    centred = columns - columns.mean(0)
    norms = np.sqrt((centred**2).sum(0))
    scaled = np.divide(centred, norms, out=np.zeros_like(centred), where=norms > 1e-12)
    related = scaled.T @ scaled
    np.fill_diagonal(related, 1.0)
    return np.asarray(related)


LAYOUT = Layout(
    "Correlations across models",
    {"dataset": ALL},
    (
        *texts("x", "y", "family"),
        TEMPERATURE,
        *texts("judge"),
        column("models", "count", "n_models"),
        *reported(column("correlation, interval first", "interval", "estimate", *INTERVAL)),
        printed_only("interval", "interval", text=limits(*INTERVAL)),
        printed_only("spearman", "number", "estimate"),
        P[0],
        *reported(P[1], *texts("note", "reason")),
        printed_only(
            "note",
            "text",
            text=pl.concat_str("note", "reason", separator="; ", ignore_nulls=True),
        ),
    ),
)
