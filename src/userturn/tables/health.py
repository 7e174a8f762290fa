"""Table `health`: empty, cut and failed user turns of each cell."""

import polars as pl

from userturn.storage.parquet import Schema
from userturn.tables.material import Material

KINDS = ("empty", "error", "truncated", "unscored", "refused")
SCHEMA: Schema = {
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "judge": pl.String,
    "n_items": pl.Int64,
    "n_turns": pl.Int64,
    **{f"n_{kind}": pl.Int64 for kind in KINDS},
    **{f"share_{kind}": pl.Float64 for kind in KINDS},
    "share_scored": pl.Float64,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return health(material.table("rates"))


def health(rates: pl.DataFrame) -> pl.DataFrame:
    """Return what became of each cell's turns, as counts and as shares of all turns."""
    shares = {f"share_{kind}": pl.col(f"n_{kind}") / pl.col("n_turns") for kind in KINDS}
    return rates.with_columns(**shares, share_scored="coverage").select(list(SCHEMA))
