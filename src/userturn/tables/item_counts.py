"""Count verdicts by item: the small table that every statistic starts from."""

from collections.abc import Sequence

import polars as pl

from userturn.datasets.clusters import clusters
from userturn.judges.judge_cell import scan_verdicts
from userturn.storage.table_files import JUDGED_CELL_KEYS, Schema
from userturn.study.cells import PLAIN

RATE: Schema = {  # over scored turns, with interval, coverage and bounds
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "interval": pl.String,
    "coverage": pl.Float64,
    "if_unscored_negative": pl.Float64,
    "if_unscored_positive": pl.Float64,
}
LABEL = "label:"  # prefix of the column that counts a label
VERIFIER = "verifier"  # the judge of answers, where they are counted as turns are


def count_items(paths_to_verdicts: Sequence[str]) -> pl.DataFrame:
    """Return the counts of the verdicts in some files, by `count_verdicts`."""
    return count_verdicts(scan_verdicts(paths_to_verdicts))


def count_verdicts(verdicts: pl.LazyFrame) -> pl.DataFrame:
    """Return one row per item of a cell and judge; items that belong together are one.

    Statistics over these rows are clustered by item. Where a dataset has several turns of a
    conversation, or versions of a problem, `item` is the conversation or the problem: what belongs
    to one is no more independent than the samples of an item (`datasets.clusters`).

    Returns:
        The key columns and `item` (categories, so that ten million rows fit in memory);
        `n_turns`; `n_scored`; `n_genuine`; `first`: whether the item's first sample is genuine;
        `first_item`: the item that this is of, its own id; and how many turns have each label, in
        a column `label:<name>`.
    """
    columns = ["model", "dataset", "perturbation", "judge", "item", "label"]
    verdicts = verdicts.with_columns(clusters(), probe=pl.col("item")).select(
        *(pl.col(name).cast(pl.Categorical) for name in columns),
        *("temperature", "sample", "probe", "genuine"),
    )
    names = verdicts.select(pl.col("label").cast(pl.String).drop_nulls().unique().sort())
    labels = names.collect(engine="streaming")["label"].to_list()
    return (
        verdicts.group_by(*JUDGED_CELL_KEYS, "item")
        .agg(
            n_turns=pl.len().cast(pl.Int32),
            n_scored=pl.col("genuine").count().cast(pl.Int32),
            n_genuine=pl.col("genuine").sum().cast(pl.Int32),
            first=pl.col("genuine").sort_by("sample", "probe").first(),
            first_item=pl.col("probe").sort_by("sample", "probe").first().cast(pl.Categorical),
            **{LABEL + name: (pl.col("label") == name).sum().cast(pl.Int32) for name in labels},
        )
        .collect(engine="streaming")
    )


def count_answers(grades: pl.DataFrame, item: pl.Expr | None = None) -> pl.DataFrame:
    """Return the answers to each graded dataset in the form of counted items: right is genuine.

    Args:
        grades: one row per answer; `correct` is null where the verifier could not decide.
        item: what is counted as one item; by default what belongs together, as in `count_items`.
    """
    correct = pl.col("correct")
    graded = grades.filter(correct.is_not_null().any().over("model", "dataset")).sort("item")
    together = (clusters() if item is None else item).alias("item")
    return graded.group_by("model", "dataset", together, maintain_order=True).agg(
        temperature=pl.lit(None, dtype=pl.Float64),
        perturbation=pl.lit(PLAIN),
        judge=pl.lit(VERIFIER),
        n_turns=pl.len().cast(pl.Int64),
        n_scored=correct.count().cast(pl.Int64),
        n_genuine=correct.sum().cast(pl.Int64),
        first=correct.first(),
    )


def labels_of(items: pl.DataFrame) -> list[str]:
    """Return the labels that a table of items counts."""
    return [name.removeprefix(LABEL) for name in items.columns if name.startswith(LABEL)]
