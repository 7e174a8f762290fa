"""Rates of turns that are clustered by item or by conversation."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from userturn.stats.clustered import Patterns, clustered_rate
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
