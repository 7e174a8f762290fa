"""Bounds on contrasts, whatever the verdicts on unscored turns would be.

A contrast uses items that were scored under both conditions. If verdicts are missing for reasons
that depend on the turns, it differs from the difference over all turns, even in large samples. The
latter lies between two extremes: every unscored turn of the condition is not genuine and every one
of the baseline is, and the opposite (Manski 1989, J Hum Resour 24:343-360). The lower limit of the
first and the upper limit of the second cover the difference over all turns with at least the stated
confidence, whatever the reasons are (Horowitz and Manski 2000, JASA 95:77-84).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import polars as pl

from userturn.stats.paired import paired_difference
from userturn.storage.key_columns import JUDGED_ITEM_KEYS
from userturn.storage.parquet import Schema
from userturn.tables.item_pairs import PAIRED, SHARED, scoped, shares_of

BOUNDS: Schema = {
    "least_if_unscored": pl.Float64,
    "most_if_unscored": pl.Float64,
    "lower_if_unscored": pl.Float64,
    "upper_if_unscored": pl.Float64,
}


class Extreme(NamedTuple):
    """One bound: what unscored turns count as under each condition, and its two columns."""

    after: float
    before: float
    bound: str
    limit: str


EXTREMES = (
    Extreme(0.0, 1.0, "least_if_unscored", "lower_if_unscored"),
    Extreme(1.0, 0.0, "most_if_unscored", "upper_if_unscored"),
)
# Returns the item pairs of every contrast from the items under conditions and under baselines.
Pairing = Callable[[pl.DataFrame, pl.DataFrame], Iterable[pl.DataFrame]]


def shares_if(items: pl.DataFrame, unscored: float) -> pl.DataFrame:
    """Return the share of genuine turns of every item if unscored turns count as 0 or 1."""
    missing = pl.col("n_turns") - pl.col("n_scored")
    return items.select(
        *JUDGED_ITEM_KEYS,
        "family",
        "n_turns",
        n_scored="n_turns",
        share=(pl.col("n_genuine") + unscored * missing) / pl.col("n_turns"),
        first=pl.lit(None, dtype=pl.Float64),
    )


def _bound(
    paired: pl.DataFrame, scopes: Mapping[str, Mapping[str, str]], extreme: Extreme
) -> pl.DataFrame:
    """Return one bound of each contrast with its limit, by the columns `SHARED`."""
    rows = []
    for scope, pooled in scopes.items():
        counts = scoped(paired, scope, pooled)
        for names, group in counts.partition_by(SHARED, as_dict=True, maintain_order=True).items():
            found = paired_difference(shares_of(group))
            limit = found.lower if extreme.after == 0 else found.upper
            rows.append((*names, found.estimate, limit))
    kinds = {name: pl.Float64 if name == "temperature" else pl.String for name in SHARED}
    schema: Schema = {**kinds, extreme.bound: pl.Float64, extreme.limit: pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def with_bounds(
    contrasts: pl.DataFrame,
    items: pl.DataFrame,
    scopes: Mapping[str, Mapping[str, str]],
    pairing: Pairing,
) -> pl.DataFrame:
    """Return contrasts with the columns `BOUNDS`, in the order of their own columns.

    Args:
        contrasts: a table with the columns `SHARED`.
        items: one row per item of a cell and judge, scored or not.
        scopes: by name, the columns that each scope pools, as in `item_pairs.scoped`.
        pairing: pairs items under conditions with those under baselines.
    """
    table = contrasts.drop(list(BOUNDS), strict=False)
    for extreme in EXTREMES:
        paired = pairing(shares_if(items, extreme.after), shares_if(items, extreme.before))
        parts = [_bound(part.select(PAIRED), scopes, extreme) for part in paired if part.height]
        if parts:
            found = pl.concat(parts)
            table = table.join(
                found, on=SHARED, how="left", nulls_equal=True, maintain_order="left"
            )
    added = [
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in BOUNDS.items()
        if name not in table.columns
    ]
    return table.with_columns(added).select(contrasts.columns)
