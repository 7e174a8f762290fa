"""Table `health`: empty, cut and failed user turns of each cell."""

import polars as pl

from userturn.storage.key_columns import CELL_KEYS
from userturn.tables.material import Material


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return health(material.table("rates"))


def health(rates: pl.DataFrame) -> pl.DataFrame:
    """Return what became of each cell's turns, as counts and as shares of all turns."""
    kinds = ("empty", "error", "truncated", "unscored", "refused")
    shares = {f"share_{kind}": pl.col(f"n_{kind}") / pl.col("n_turns") for kind in kinds}
    counts = [f"n_{kind}" for kind in kinds]
    return rates.select(
        *CELL_KEYS, "judge", "n_items", "n_turns", *counts, **shares, share_scored="coverage"
    )
