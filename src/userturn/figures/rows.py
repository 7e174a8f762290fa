"""Rows and labels that several figures share."""

import polars as pl

from userturn.study.cells import PLAIN

ALL_DATASETS = "all datasets"
NOTHING = "no turn was scored"
SPACED = 26  # pixels between panels whose first and last labels would touch
SMALL = 3  # with more models than this, panels are small


def plain_cells(table: pl.DataFrame) -> pl.DataFrame:
    """Return the unperturbed rows at the lowest temperature."""
    lowest = pl.col("temperature") == pl.col("temperature").min()
    return table.filter(lowest, pl.col("perturbation") == PLAIN)


def temperature_row(rates: pl.DataFrame) -> str:
    """Return the lowest temperature as part of a sentence."""
    return "".join(f", temperature {t:g}" for t in rates["temperature"].unique().sort()[:1])
