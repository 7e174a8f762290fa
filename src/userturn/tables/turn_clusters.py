"""Rates of turns that belong together: of one item, or of one conversation."""

from collections.abc import Sequence

import polars as pl

from userturn.stats.clustered import Patterns, clustered_rate
from userturn.stats.proportions import Interval


def rate_over(
    turns: pl.DataFrame, clusters: Sequence[str], positive: str = "genuine"
) -> tuple[Interval, str]:
    """Return the share of turns that are positive with its 95% limits, and which interval it is.

    Turns of one cluster are no independent draws: the limits are Wilson's at the clusters' worth of
    turns (`stats.clustered`), and Wilson's own where each cluster has one turn.

    Args:
        turns: one row a turn.
        clusters: the columns that say what a turn belongs to.
        positive: the column of what is counted, null where a turn is unscored.
    """
    seen = turns.group_by(clusters).agg(y=pl.col(positive).sum(), m=pl.col(positive).count())
    counts = seen.group_by("m", "y").agg(n=pl.len()).sort("m", "y")
    arrays = (counts[name].cast(pl.Float64).to_numpy() for name in ("n", "m", "y"))
    return clustered_rate([Patterns(*arrays)], "micro")
