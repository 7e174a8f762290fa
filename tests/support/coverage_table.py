"""Table `coverage`: how many turns each judge gave a verdict on."""

import polars as pl

from userturn.storage.table_files import Schema
from userturn.tables.layout import Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.rates import cell_rates
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate",
    place=1,
    row="a judge",
    made_of=("rates",),
    formats=(".parquet", ".csv", ".md", ".tex"),
)
SCHEMA: Schema = {"judge": pl.String, "n_turns": pl.Int64, "n_scored": pl.Int64}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    counts = (
        cell_rates(material.table("rates"))
        .group_by("judge")
        .agg(pl.col("n_turns", "n_scored").sum())
    )
    return counts.sort("judge")


LAYOUT = Layout("Coverage", {}, (*texts("judge"), column("scored", "of", "n_scored", "n_turns")))
