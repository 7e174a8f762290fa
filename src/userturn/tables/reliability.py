"""Whether a judge's probabilities hold: of turns called genuine with 0.7, are 7 of 10 genuine?

Only for judges that give probabilities, on turns of a known kind.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from userturn.judges.verdict import GENUINE
from userturn.tables.turn_clusters import rate_over

N_BINS = 5
BRIER, MEAN, SHARE = "brier", "mean probability", "share genuine"
BY_PROBABILITY = "probability"


def reliability(turns: pl.DataFrame, everywhere: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield rows of a judge's card: its Brier score, and bins of its probability.

    Of each bin there are the mean probability of its turns, and the share that is genuine in truth.

    Args:
        turns: columns of `known_turns.TURN`, of one judge and source.
        everywhere: `by` and `group` of all turns.
    """
    known = turns.drop_nulls("probability").with_columns(genuine=pl.col("truth") == GENUINE)
    if known.is_empty():
        return
    off = pl.col("probability") - pl.col("genuine").cast(pl.Float64)
    yield _row(known, everywhere, BRIER, estimate=known.select((off**2).mean()).item())
    place = (pl.col("probability") * N_BINS).floor().clip(0, N_BINS - 1).cast(pl.Int64)
    for (number,), part in sorted(
        known.with_columns(bin=place).partition_by(["bin"], as_dict=True).items()
    ):
        of = {"by": BY_PROBABILITY, "group": _named(int(number))}
        yield _row(part, of, MEAN, estimate=part["probability"].mean())
        yield _row(part, of, SHARE, **rate_over(part, ["cluster"])[0]._asdict())


def _named(number: int) -> str:
    return f"{number / N_BINS:.1f} to {(number + 1) / N_BINS:.1f}"


def _row(turns: pl.DataFrame, of: dict[str, str], measure: str, **found: Any) -> dict[str, Any]:
    counts = {"n_turns": turns.height, "n_scored": turns.height}
    return (
        of | {"measure": measure, "n_conversations": turns["cluster"].n_unique()} | counts | found
    )
