"""Does a model's first user turn say how its conversation with itself goes on? With a plan.

Run from the project's root: `python benchmarks/self_play_ahead.py RESULTS`, of a study with
`self_play`. Registered before any number of it was seen (the commit that adds this file):

1. Conversations whose first user turn the judge calls a follow-up have more follow-ups among their
   later turns than the others (difference above 0).
2. They go on: fewer of their later turns are empty (difference below 0).

Each is a difference of shares of later turns with 95% limits over conversations, as of two groups;
both are printed, whatever they are. They are the demo's model and the rules, so they show that the
question can be asked, and nothing about models of a useful size.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from userturn.stats.rng import generator
from userturn.storage.key_columns import ANSWER_KEYS

N_RESAMPLES = 10_000
AT = [*ANSWER_KEYS, "temperature"]


def later_turns(results: Path, judge: str) -> pl.DataFrame:
    """Return each later turn: its conversation, whether the first was a follow-up, and its own."""
    first = pl.concat(
        pl.read_parquet(path).filter(pl.col("judge") == judge)
        for path in results.glob(f"cells/*/*/*/none/verdicts/{judge}.parquet")
    ).select(*AT, is_first="genuine")
    tables = []
    for path in sorted(results.glob("self_play/*/*/*/depth-*")):
        turns = pl.read_parquet(path / "user_turns.parquet").select(*AT, "outcome")
        said = pl.read_parquet(path / f"verdicts/{judge}.parquet").select(*AT, "genuine")
        tables.append(turns.join(said, on=AT))
    later = pl.concat(tables).join(first, on=AT).drop_nulls("is_first")
    return later.with_columns(conversation=pl.concat_str("dataset", "item", "temperature"))


def difference(turns: pl.DataFrame, value: pl.Expr) -> str:
    """Return the share after a first follow-up less that after another first turn, with limits."""
    sums = (
        turns.with_columns(y=value.cast(pl.Float64))
        .drop_nulls("y")
        .group_by("conversation", "is_first", maintain_order=True)
        .agg(pl.col("y").sum(), n=pl.col("y").count())
    )
    so, y, n = (sums[name].to_numpy() for name in ("is_first", "y", "n"))
    drawn = generator(0, "self-play").integers(len(sums), size=(N_RESAMPLES, len(sums)))
    shares = [(y * k)[drawn].sum(1) / (n * k)[drawn].sum(1) for k in (so, ~so)]
    lower, upper = np.nanquantile(shares[0] - shares[1], [0.025, 0.975])
    estimate = y[so].sum() / n[so].sum() - y[~so].sum() / n[~so].sum()
    return f"{estimate:+.3f} [{lower:+.3f}, {upper:+.3f}] | {so.sum()}, {(~so).sum()}"


def main() -> None:
    """Print the row of docs/methods.md of each prediction."""
    turns = later_turns(Path(sys.argv[1]), "heuristic")
    print("| share of later turns | difference | conversations |\n|---|---|---|")
    print(f"| follow-ups | {difference(turns, pl.col('genuine'))} |")
    print(f"| empty | {difference(turns, pl.col('outcome') == 'empty')} |")


if __name__ == "__main__":
    main()
