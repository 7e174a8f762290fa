"""Rates of turns that are clustered by item or by conversation."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from userturn.stats.clustered import Patterns, clustered_rate
from userturn.stats.paired import Shares, paired_difference
from userturn.stats.proportions import Interval


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


def paired_shares(pairs: pl.DataFrame) -> Shares:
    """Return the shares of clusters under two conditions; each cluster counts once.

    Args:
        pairs: one row per cluster: `before` and `after`, its shares of positive turns, and
            `n_before` and `n_after`, its turns.
    """
    counts = pairs.group_by("before", "after").agg(n=pl.len()).sort(pl.all())
    before, after, n = (counts[name].cast(pl.Float64).to_numpy() for name in counts.columns)
    turns = [float(pairs[name].sum()) / pairs.height for name in ("n_before", "n_after")]
    return Shares(before, after, n, *turns)


def change(first: pl.DataFrame, later: pl.DataFrame, cluster: str) -> tuple[Interval, int]:
    """Return how the share of genuine turns changes in the clusters that both tables have scored.

    Args:
        first: one row per turn, with `genuine`, null for an unscored one.
        later: the same.
        cluster: the column that identifies a turn's cluster.

    Returns:
        The change with its 95% limits, null if no cluster is in both, and their number.
    """
    share = pl.col("genuine").mean().alias("share")
    of_clusters = [
        turns.drop_nulls("genuine").group_by(cluster).agg(share, n=pl.len())
        for turns in (first, later)
    ]
    both = of_clusters[0].join(of_clusters[1], on=cluster, suffix="_after")
    if both.is_empty():
        return Interval(None, None, None), 0
    names = {"share": "before", "share_after": "after", "n": "n_before"}
    return paired_difference(paired_shares(both.rename(names))), both.height
