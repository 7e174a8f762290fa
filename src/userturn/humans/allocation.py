"""Allocate a round's turns to strata: by Neyman's allocation, more to the most uncertain.

A stratum gets labels in proportion to its size times the standard deviation of people's labels in
it, which is unknown before people have labelled. It is estimated as √(p(1 - p)) from earlier
rounds: p is the share of genuine turns among the labelled turns to which the judge gave that label,
with half a label of each kind added. Before the first round p is the judge's own rate in the cell,
so that cells with a rate near a half get more. The allocation decides how many turns of a stratum
are drawn and never which: each has the probability n_drawn / stratum_size, and weights stay
unbiased. Labels of a stratum affect its own allocation only through the mean over all cells.
"""

import polars as pl

from userturn.judges.verdict import GENUINE
from userturn.stats.prediction_powered import allocated
from userturn.storage.table_files import CELL_KEYS

BY_SETTINGS = "per_stratum, genuine and minimum_per_family"


def shared_out(strata: pl.DataFrame, n_turns: int, labels: pl.DataFrame) -> pl.DataFrame:
    """Return strata with `n_drawn` raised until their sum is `n_turns`.

    Args:
        strata: one row per stratum: its key columns, `stratum_size`, and the minimum `n_drawn`.
        n_turns: number of turns in all rounds together.
        labels: one row per labelled turn of earlier rounds: `stratum` and `genuine`, a share.
    """
    known = labels.group_by("stratum").agg(p=(pl.col("genuine").sum() + 0.5) / (pl.len() + 1))
    size, is_genuine = pl.col("stratum_size"), pl.col("stratum") == GENUINE
    of_cell = size.filter(is_genuine).sum().over(CELL_KEYS)
    judged = (of_cell + 0.5) / (size.sum().over(CELL_KEYS) + 1)
    unseen = judged if labels.is_empty() else pl.lit(0.5)
    found = strata.join(known, on="stratum", how="left", maintain_order="left")
    shares = found.select(pl.col("p").fill_null(unseen)).to_series().to_numpy()
    sizes, least = (strata[name].to_numpy() for name in ("stratum_size", "n_drawn"))
    drawn = allocated(sizes, (shares * (1 - shares)) ** 0.5, n_turns, least)
    return strata.with_columns(n_drawn=pl.Series(drawn, dtype=pl.Int64))


def allocation_name(n_turns: int | None, n_labels: int) -> str:
    """Return how the turns of a round were allocated, for its key's metadata."""
    if n_turns is None:
        return BY_SETTINGS
    source = f"{n_labels} labels of earlier rounds" if n_labels else "the judge's rates"
    return f"Neyman, from {source}: {n_turns} turns of all rounds, at least {BY_SETTINGS}"
