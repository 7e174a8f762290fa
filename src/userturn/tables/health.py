"""Table `health`: empty, cut and failed user turns of each cell, and cut answers before them."""

import polars as pl

from userturn.storage.key_columns import JUDGED_CELL_COLUMNS
from userturn.storage.parquet import Schema
from userturn.tables.accuracy import cut_answers
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate",
    place=300,
    row="a cell and judge",
    made_of=("rates", "answers"),
)
KINDS = ("empty", "error", "truncated", "unscored", "refused")
SCHEMA: Schema = {
    **JUDGED_CELL_COLUMNS,
    "n_items": pl.Int64,
    "n_turns": pl.Int64,
    **{f"n_{kind}": pl.Int64 for kind in KINDS},
    **{f"share_{kind}": pl.Float64 for kind in KINDS},
    "share_scored": pl.Float64,
    "n_answers_cut": pl.Int64,
    "share_answers_cut": pl.Float64,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return health(material.table("rates"), material.answers)


def health(rates: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Return the outcomes of each cell's turns, as counts and as shares of all turns.

    Further columns count the model's answers to the dataset that were cut at the token limit:
    whatever the perturbation, the turns after them react to a truncated answer.
    """
    shares = {f"share_{kind}": pl.col(f"n_{kind}") / pl.col("n_turns") for kind in KINDS}
    cut = cut_answers(answers)
    return (
        rates.join(cut, on=["model", "dataset"], how="left", maintain_order="left")
        .with_columns(**shares, share_scored="coverage")
        .with_columns(share_answers_cut=pl.col("n_answers_cut") / pl.col("n_answers"))
        .select(list(SCHEMA))
    )
