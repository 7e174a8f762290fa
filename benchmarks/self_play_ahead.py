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

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rated_answers import difference
from userturn.storage.table_files import ANSWER_KEYS

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


def main() -> None:
    """Print the row of rated_answers.md of each prediction."""
    turns = later_turns(Path(sys.argv[1]), "heuristic")
    print("| share of later turns | difference | turns | above 0 |\n|---|---|---|---|")
    for what, value in (("follow-ups", pl.col("genuine")), ("empty", pl.col("outcome") == "empty")):
        rows = turns.select("conversation", "is_first", y=value.cast(pl.Float64)).drop_nulls("y")
        print(f"| {what} | {difference(rows.rows())} |")


if __name__ == "__main__":
    main()
