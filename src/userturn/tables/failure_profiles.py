"""Table `failure_profiles`: how user turns that are not genuine fail."""

from collections.abc import Mapping

import polars as pl

from userturn.storage.parquet import Schema
from userturn.tables.item_counts import LABEL, labels_of
from userturn.tables.layout import (
    INTERVAL,
    LOWEST,
    OVER_DATASETS,
    Layout,
    column,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.pooling import AVERAGES, GROUP, RATE_SCHEMA, SCOPES, pool_scopes
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="analyse",
    place=100,
    row="a label in a scope",
    made_of=("verdicts", "rubric", "families", "judge_card"),
    settings=("thresholds",),
    formats=(".parquet", ".csv", ".md", ".tex"),
)
MEANINGS = {
    "estimate": "share of the label among scored turns",
}
SCHEMA: Schema = (
    dict.fromkeys([*GROUP, "label", "paper"], pl.String)
    | {"temperature": pl.Float64}
    | {
        name: RATE_SCHEMA[name]
        for name in (
            "n_datasets",
            "n_items",
            "n_scored",
            "n_positive",
            "estimate",
            "lower",
            "upper",
            "interval",
            "reason",
        )
    }
)


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return failure_profiles(material.items, material.rubric.paper)


def failure_profiles(items: pl.DataFrame, paper: Mapping[str, str]) -> pl.DataFrame:
    """Return the share of each label among the scored turns, over turns (micro).

    Args:
        items: counts of verdicts.
        paper: the paper's name for the turns of a label: the column `paper`, null for our own.
    """
    positives = [LABEL + label for label in labels_of(items)]
    shares = pool_scopes(items, positives, SCOPES, AVERAGES[:1])
    labelled = shares.with_columns(label=pl.col("counted").str.strip_prefix(LABEL))
    named = pl.col("label").replace_strict(paper, default=None, return_dtype=pl.String)
    return labelled.with_columns(paper=named).select(list(SCHEMA))


LAYOUT = Layout(
    "What the user turns are",
    OVER_DATASETS | {"temperature": LOWEST},
    (
        *texts("family", "model", "judge"),
        printed_only("scored", "count", "n_scored"),
        *reported(*texts("label"), column("in the paper", "text", "paper")),
        column("share", "share", "estimate", *INTERVAL, printed="{} %"),
        *reported(column("turns", "of", "n_positive", "n_scored")),
    ),
    spread=("label",),
)
