"""Rates over several cells: of a model, a family, a label, with intervals that know the items."""

import polars as pl

from userturn.tables.pooling import pool_scopes


def pooled_rates(items: pl.DataFrame, seed: int, n_resamples: int) -> pl.DataFrame:
    """Return the rates of models over datasets, and of families, and over all temperatures.

    A temperature of null stands for all of them together.
    """
    positives = ["n_genuine"]
    at_each = pool_scopes(
        items, positives, seed, n_resamples, ["model", "family and dataset", "family"]
    )
    everywhere = items.with_columns(temperature=pl.lit(None, dtype=pl.Float64))
    over_all = pool_scopes(everywhere, positives, seed, n_resamples, ["model and dataset"])
    return pl.concat([over_all, at_each]).drop("counted").rename({"n_positive": "n_genuine"})
