"""Rates over different texts, and how many turns are copies, as columns of `rates`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from userturn.datasets.clusters import clusters
from userturn.judges.judge_cell import scan_verdicts
from userturn.stats.clustered import Patterns, pooled_rate
from userturn.stats.proportions import Interval
from userturn.storage.table_files import JUDGED_CELL_COLUMNS, JUDGED_CELL_KEYS, TURN_KEYS, Schema
from userturn.study.cells import ALL
from userturn.tables.layout import column
from userturn.tables.turn_clusters import LIMITS, limits_of
from userturn.tables.turn_copies import with_copies

if TYPE_CHECKING:
    from userturn.tables.make_tables import Material

COPIED: Schema = {
    "n_copies": pl.Int64,
    "n_distinct": pl.Int64,
    **{f"distinct{end}": pl.Float64 for end in LIMITS},
}
OF_COPIES = {
    "n_copies": (
        "turns that are, but for white space at the ends, that of another item in the same cell; "
        "cells and models"
    ),
    "n_distinct": "different texts of the scored turns of each cell; turns without text are one",
    "distinct": "rate over these: each counts once, for the share of its turns that are genuine",
    "distinct_lower": "lower limit of its 95% interval",
    "distinct_upper": "upper limit of its 95% interval",
}
SCHEMA: Schema = {**JUDGED_CELL_COLUMNS, **COPIED}
COPIES_SHOWN = (
    column("copies of another item's turn", "of", "n_copies", "n_ok"),
    column("over different texts", "share", "distinct", "distinct_lower", "distinct_upper"),
)


def over_distinct_texts(material: "Material") -> pl.DataFrame:
    """Return how many turns are copies, and the rates over different texts, of a study."""
    turns = pl.concat(
        said_of(pl.read_parquet(path, columns=[*TURN_KEYS, "outcome", "text"]))
        for path in material.paths["user_turns"]
    )
    keys = [*TURN_KEYS, "judge", "genuine"]
    verdicts = scan_verdicts(material.paths["verdicts"]).select(keys)
    judged = verdicts.join(turns.lazy(), on=TURN_KEYS, how="left")
    return over_distinct(judged.collect(engine="streaming"))


def said_of(cell: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of a cell with a number for what each says, and `is_copy`."""
    text = pl.col("said").rank("dense")
    return with_copies(cell).select(*TURN_KEYS, "is_copy", text=text)


def over_distinct(judged: pl.DataFrame) -> pl.DataFrame:
    """Return one row per cell and judge, and one over all datasets.

    Args:
        judged: one row per turn and judge: key columns, `genuine`, null for an unscored turn, and
            the columns of `said_of`.
    """
    once = [*JUDGED_CELL_KEYS, "text"]
    weight = 1 / pl.col("genuine").count().over(once)
    weighed = judged.with_columns(
        clusters(), weight=pl.when(pl.col("genuine").is_not_null()).then(weight)
    )
    items = weighed.group_by(*JUDGED_CELL_KEYS, "item").agg(
        m=pl.col("weight").sort().sum(),
        y=pl.col("weight").filter("genuine").sort().sum(),
        n_copies=pl.col("is_copy").sum(),
    )
    items = items.sort(*JUDGED_CELL_KEYS, "item")
    groups = pl.concat([items, items.with_columns(dataset=pl.lit(ALL))])
    return pl.DataFrame(list(_rows(groups)), schema=SCHEMA)


def _rows(groups: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for values, items in sorted(groups.partition_by(JUDGED_CELL_KEYS, as_dict=True).items()):
        found = Interval(None, None, None)
        seen = items.filter(pl.col("m") > 0)
        if seen.height:
            m, y = (seen[name].to_numpy() for name in ("m", "y"))
            found = pooled_rate(Patterns(np.ones(len(m)), m, y))
        yield {
            **dict(zip(JUDGED_CELL_KEYS, values, strict=True)),
            "n_copies": int(items["n_copies"].sum()),
            "n_distinct": round(items["m"].sum()),
            **limits_of("distinct", found),
        }
