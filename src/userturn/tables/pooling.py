"""Pool the turns of cells over items, datasets, models and families."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from userturn.judges.verdict import ARGUABLE
from userturn.stats.arrays import Floats
from userturn.stats.clustered import Patterns, clustered_rate
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL
from userturn.tables.item_counts import LABEL, RATE

AVERAGES = ("micro", "macro")
COUNTS = ("n_turns", "n_scored", "n_positive")
CELL = "cell"

SCOPES = {  # what a rate is over, beside temperature, perturbation and judge
    CELL: ["model", "family", "dataset"],
    "model": ["model", "family"],
    "family and dataset": ["family", "dataset"],
    "family": ["family"],
}

RATE_SCHEMA: Schema = {
    "average": pl.String,
    "n_datasets": pl.Int64,
    "n_items": pl.Int64,
    "n_turns": pl.Int64,
    "n_scored": pl.Int64,
    "n_positive": pl.Int64,
    **RATE,
    "reason": pl.String,
}

LENIENT: Schema = dict.fromkeys(("lenient", "lenient_lower", "lenient_upper"), pl.Float64)
STRICT_AND_LENIENT = ("n_genuine", "n_lenient")
GROUP = ["scope", "family", "model", "dataset", "temperature", "perturbation", "judge"]


def per_item(items: pl.DataFrame, keys: Sequence[str], positives: Sequence[str]) -> pl.DataFrame:
    """Return the counts of each item within groups that share the columns `keys`.

    An item that several cells of a group share counts as one item, with the turns of all cells.
    """
    counts = ["n_turns", "n_scored", *positives]
    return items.group_by(*keys, "item").agg(pl.col(counts).sum())


def patterns(items: pl.DataFrame, keys: Sequence[str], positive: str) -> pl.DataFrame:
    """Count the items of each group that have the same counts, sorted."""
    counted = [*keys, "n_turns", "n_scored", pl.col(positive).alias("n_positive")]
    counts = items.select(counted).group_by(pl.all()).agg(n_items=pl.len())
    # Categories sort by their text, so sums do not depend on the order of reading.
    texts = [pl.col(key).cast(pl.String) for key in keys if key != "temperature"]
    return counts.with_columns(texts).sort(*keys, "n_turns", "n_scored", "n_positive")


def _bounds(totals: Floats, average: str) -> dict[str, float]:
    """Return coverage and the rate over all turns with every unscored one negative, or positive."""
    if average == "micro":
        totals = totals.sum(0, keepdims=True)
    turns, scored, positive = totals.T
    return {
        "coverage": float((scored / turns).mean()),
        "if_unscored_negative": float((positive / turns).mean()),
        "if_unscored_positive": float(((positive + turns - scored) / turns).mean()),
    }


def _rate(datasets: Sequence[Floats], average: str) -> dict[str, Any]:
    """Return a rate; each dataset is an array of patterns, with rows `n_items` and COUNTS."""
    totals = np.stack([counts[1:] @ counts[0] for counts in datasets])
    seen = [Patterns(n, scored, positive) for n, _, scored, positive in datasets]
    interval, method = clustered_rate(seen, average)
    is_scored = interval.estimate is not None
    return {
        "average": average,
        "n_datasets": len(datasets),
        "n_items": round(sum(n.sum() for n, *_ in datasets)),
        **dict(zip(COUNTS, map(round, totals.sum(0)), strict=True)),
        **interval._asdict(),
        "interval": method if is_scored else None,
        **_bounds(totals, average),
        "reason": None if is_scored else "no turn was scored",
    }


def pool(
    items: pl.DataFrame,
    by: Sequence[str],
    positives: Sequence[str],
    averages: Sequence[str] = AVERAGES,
) -> pl.DataFrame:
    """Return the rates of each group, over its turns (micro) and over its datasets (macro).

    Args:
        items: one row per item of a cell, as `item_counts.count_items` returns it.
        by: the columns that make a group.
        positives: the columns with the counted numerators.
        averages: `micro`, or both.

    Returns:
        The columns `by`, `counted` (one of `positives`) and those of `RATE_SCHEMA`; macro rows
        only where there are two datasets.
    """
    keys = list(dict.fromkeys([*by, "dataset"]))
    counts = per_item(items, keys, positives)
    rows = []
    for counted in positives:
        table = patterns(counts, keys, counted).group_by(keys, maintain_order=True)
        of_datasets = table.agg("n_items", *COUNTS).iter_rows()
        for names, found in groupby(of_datasets, key=lambda row: row[: len(by)]):
            datasets = [np.array(row[len(keys) :], dtype=float) for row in found]
            for average in averages[: len(datasets)]:
                row = _rate(datasets, average)
                rows.append(dict(zip(by, names, strict=True)) | {"counted": counted, **row})
    schema: Schema = {
        name: pl.Float64 if name == "temperature" else pl.String for name in (*by, "counted")
    } | RATE_SCHEMA
    return pl.DataFrame(rows, schema=schema)


def pool_scopes(
    items: pl.DataFrame,
    positives: Sequence[str],
    scopes: Iterable[str],
    averages: Sequence[str] = AVERAGES,
) -> pl.DataFrame:
    """Return the rates of several scopes in one table; pooled columns have the value `all`."""
    tables = []
    for scope in scopes:
        by = [*SCOPES[scope], "temperature", "perturbation", "judge"]
        table = pool(items, by, positives, averages)
        table = table.with_columns(scope=pl.lit(scope))
        missing = [name for name in ("model", "dataset") if name not in by]
        tables.append(table.with_columns(pl.lit(ALL).alias(name) for name in missing))
    columns = [*GROUP, "counted", *RATE_SCHEMA]
    return pl.concat([table.select(columns) for table in tables]).sort(*GROUP, "counted", "average")


def beside_strict(pooled: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of clear follow-ups, with the rates of clear or arguable ones in LENIENT.

    Args:
        pooled: rates by `pool` of STRICT_AND_LENIENT.
    """
    of = [name for name in pooled.columns if name not in ("counted", *RATE_SCHEMA)]
    strict, lenient = (pooled.filter(counted=name) for name in STRICT_AND_LENIENT)
    limits = dict(zip(LENIENT, ("estimate", "lower", "upper"), strict=True))
    beside = lenient.select(*of, "average", **{name: pl.col(of) for name, of in limits.items()})
    return strict.join(
        beside, on=[*of, "average"], how="left", nulls_equal=True, maintain_order="left"
    )


def with_lenient(items: pl.DataFrame) -> pl.DataFrame:
    """Return counts of items with `n_lenient`, the turns that are clearly or arguably genuine."""
    arguable = LABEL + ARGUABLE
    n_more = pl.col(arguable) if arguable in items.columns else pl.lit(0)
    return items.with_columns(n_lenient=pl.col("n_genuine") + n_more)
