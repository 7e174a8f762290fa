"""Count verdicts by item: the small table that every statistic starts from."""

from collections.abc import Sequence

import polars as pl

from userturn.datasets.turns import conversations
from userturn.judges.judge_cell import scan_verdicts
from userturn.storage.key_columns import JUDGED_CELL_KEYS
from userturn.storage.parquet import Schema

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


def count_items(paths_to_verdicts: Sequence[str]) -> pl.DataFrame:
    """Return one row per item of a cell and judge; items of one conversation are one.

    Statistics over these rows are clustered by item. With `turns` in a dataset's entry, `item` is
    the conversation: its turns are no more independent than the samples of an item.

    Returns:
        The key columns and `item` (categories, so that ten million rows fit in memory);
        `n_turns`; `n_scored`; `n_genuine`; `first`: whether the item's first sample is genuine;
        and how many turns have each label, in a column `label:<name>`.
    """
    columns = ["model", "dataset", "perturbation", "judge", "item", "label"]
    verdicts = (
        scan_verdicts(paths_to_verdicts)
        .with_columns(conversations(), probe=pl.col("item"))
        .select(
            *(pl.col(name).cast(pl.Categorical) for name in columns),
            *("temperature", "sample", "probe", "genuine"),
        )
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
            **{LABEL + name: (pl.col("label") == name).sum().cast(pl.Int32) for name in labels},
        )
        .collect(engine="streaming")
    )


def labels_of(items: pl.DataFrame) -> list[str]:
    """Return the labels that a table of items counts."""
    return [name.removeprefix(LABEL) for name in items.columns if name.startswith(LABEL)]
