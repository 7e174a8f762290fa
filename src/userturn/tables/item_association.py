"""Whether correct answers and genuine follow-ups are associated over items."""

import polars as pl

from userturn.stats.association import mantel_haenszel
from userturn.storage.key_columns import ANSWER_KEYS
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.beside_accuracy import with_adjusted
from userturn.tables.format_columns import is_default

ASSOCIATED: Schema = {
    "family": pl.String,
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "judge": pl.String,
    "n_items": pl.Int64,
    "n_right_genuine": pl.Int64,
    "n_right_not": pl.Int64,
    "n_wrong_genuine": pl.Int64,
    "n_wrong_not": pl.Int64,
    "odds_ratio": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "phi": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "reason": pl.String,
}


def item_association(items: pl.DataFrame, grades: pl.DataFrame) -> pl.DataFrame:
    """Return each model's odds ratio of a follow-up after a correct against a wrong answer.

    Each item has one turn, its first sample, so that items are independent; of a conversation or a
    problem it is that of its first item. There is one row per dataset, and one over datasets
    (`all`) by Mantel and Haenszel, whose four counts are the sums.
    """
    right = grades.filter(pl.col("correct").is_not_null()).select(
        "model", "dataset", "item", "correct"
    )
    turns = items.filter(pl.col("perturbation") == PLAIN, pl.col("first").is_not_null())
    texts = pl.col("model", "family", "dataset", "judge").cast(pl.String)
    item = pl.col("first_item").cast(pl.String).alias("item")
    both = turns.select(texts, item, "temperature", "first").join(right, on=ANSWER_KEYS)
    keys = ["family", "model", "dataset", "temperature", "judge"]
    r, g = pl.col("correct"), pl.col("first")
    cells = both.group_by(keys).agg(
        n_right_genuine=(r & g).sum(),
        n_right_not=(r & ~g).sum(),
        n_wrong_genuine=(~r & g).sum(),
        n_wrong_not=(~r & ~g).sum(),
    )
    cells = cells.sort(keys)  # the datasets of `all` are added up in this order
    rows = []
    for table in (cells, cells.with_columns(dataset=pl.lit(ALL))):
        for names, group in sorted(table.partition_by(keys, as_dict=True).items()):
            counts = group.select(pl.col("^n_.*$"))
            found = mantel_haenszel(counts.to_numpy())
            row = dict(zip(keys, names, strict=True)) | counts.sum().row(0, named=True)
            rows.append(row | {"n_items": counts.sum().sum_horizontal()[0], **found._asdict()})
    table = pl.DataFrame(rows, schema=ASSOCIATED)
    table = table.with_columns(in_default=is_default())
    return with_adjusted(table, ["judge", "in_default"]).drop("in_default").sort(*keys)
