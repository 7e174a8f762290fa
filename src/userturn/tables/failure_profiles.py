"""Table `failure_profiles`: how user turns that are not genuine fail."""

import polars as pl

from userturn.storage.parquet import Schema
from userturn.tables.item_counts import LABEL, labels_of
from userturn.tables.pooling import AVERAGES, GROUP, RATE_SCHEMA, SCOPES, pool_scopes

PROFILE_SCHEMA: Schema = (
    dict.fromkeys([*GROUP, "label"], pl.String)
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


def failure_profiles(items: pl.DataFrame, seed: int, n_resamples: int) -> pl.DataFrame:
    """Return the share of each label among the scored turns, over turns (micro)."""
    positives = [LABEL + label for label in labels_of(items)]
    shares = pool_scopes(items, positives, seed, n_resamples, SCOPES, AVERAGES[:1])
    labelled = shares.with_columns(label=pl.col("counted").str.strip_prefix(LABEL))
    return labelled.select(list(PROFILE_SCHEMA))
