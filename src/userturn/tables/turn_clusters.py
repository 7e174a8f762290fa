"""Rates of turns that are clustered by item or by conversation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from userturn.stats.clustered import Patterns, clustered_rate
from userturn.stats.margins import change as change_of
from userturn.stats.margins import side_by_side
from userturn.stats.proportions import Interval

LIMITS = ("", "_lower", "_upper")  # endings of the columns of an estimate with its limits


def limits_of(name: str, limits: tuple[float | None, ...]) -> dict[str, Any]:
    """Return an estimate and its limits as the columns `name`, `name_lower`, `name_upper`."""
    return {f"{name}{end}": value for end, value in zip(LIMITS, limits, strict=True)}


def rate_over(
    turns: pl.DataFrame, clusters: Sequence[str], positive: str = "genuine"
) -> tuple[Interval, str]:
    """Return the share of positive turns with its 95% limits, and the name of the interval.

    Turns of one cluster are not independent: the limits are Wilson's at the effective number of
    turns (`stats.clustered`), and plain Wilson limits if each cluster has one turn.

    Args:
        turns: one row per turn.
        clusters: the columns that identify a turn's cluster.
        positive: the column that is counted, null for an unscored turn.
    """
    seen = turns.group_by(clusters).agg(y=pl.col(positive).sum(), m=pl.col(positive).count())
    counts, n = np.unique(seen.select("m", "y").to_numpy(), axis=0, return_counts=True)
    m, y = counts.T.astype(float)
    return clustered_rate([Patterns(n.astype(float), m, y)], "micro")


def rate_columns(turns: pl.DataFrame, cluster: str) -> dict[str, Any]:
    """Return the rate of genuine turns with interval, coverage and bounds.

    The bounds are the rate over all turns if every unscored turn were not genuine, or genuine.
    """
    n_genuine, n_scored = int(turns["genuine"].sum()), turns["genuine"].count()
    limits, method = rate_over(turns, [cluster])
    n_turns = turns.height
    return {
        **limits._asdict(),
        "interval": method if n_scored else None,
        "coverage": n_scored / n_turns if n_turns else None,
        "if_unscored_negative": n_genuine / n_turns if n_turns else None,
        "if_unscored_positive": (n_genuine + n_turns - n_scored) / n_turns if n_turns else None,
    }


def change(first: pl.DataFrame, later: pl.DataFrame, cluster: str) -> tuple[Interval, int]:
    """Return how the rate of genuine turns changes in the clusters that both tables have scored.

    Args:
        first: one row per turn, with `genuine`, null for an unscored one.
        later: the same.
        cluster: the column that identifies a turn's cluster.

    Returns:
        The change with its 95% limits, null if no cluster is in both, and their number.
    """
    y = pl.col("genuine").sum().cast(pl.Float64).alias("y")
    m = pl.len().cast(pl.Float64).alias("m")
    sums = [t.drop_nulls("genuine").group_by(cluster).agg(m, y) for t in (first, later)]
    both = sums[0].join(sums[1], on=cluster, suffix="_after").sort(cluster)
    if both.is_empty():
        return Interval(None, None, None), 0
    before, after = ((both[f"m{s}"], both[f"y{s}"]) for s in ("", "_after"))
    return change_of(side_by_side(before, after)), both.height
