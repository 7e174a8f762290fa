"""The column `format` of tables: written if a row has another format, and joined when read.

Tables are computed with a model in another format as a line of its own, `model+format`, whose
family is `family+format`: so no pool mixes formats. Files have the two names in two columns.
"""

from pathlib import Path

import polars as pl

from userturn.config.formats import BETWEEN, DEFAULT
from userturn.study.cells import ALL

NAMING = ("model", "family")  # columns that may name a format; the first one that is there decides
FORMAT = "format"
ALSO = ("base", "baseline", "condition")  # columns with models whose format the row already names


def _name(column: str) -> pl.Expr:
    return pl.col(column).str.split_exact(BETWEEN, 1).struct.field("field_0").alias(column)


def split_formats(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with the column `format` after the model's; as it is if no row names one."""
    named = [name for name in (*NAMING, *ALSO) if name in table.columns]
    naming = [name for name in NAMING if name in named]
    formats = [pl.col(n).str.split_exact(BETWEEN, 1).struct.field("field_1") for n in naming]
    found = table.select(pl.coalesce(*formats, pl.lit(None)).alias(FORMAT)).to_series()
    if not naming or not found.count():
        return table
    split = table.with_columns(_name(name) for name in named)
    return split.insert_column(table.columns.index(naming[0]) + 1, found.fill_null(DEFAULT))


def join_formats(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table as it is computed: the formats in the names of models and families."""
    if FORMAT not in table.columns:
        return table
    other = pl.col(FORMAT) != DEFAULT

    def joined(name: str) -> pl.Expr:
        full = pl.format("{}" + BETWEEN + "{}", name, FORMAT)
        return pl.when(other & (pl.col(name) != ALL)).then(full).otherwise(name).alias(name)

    there = [name for name in (*NAMING, "base") if name in table.columns]
    return table.with_columns(joined(name) for name in there).drop(FORMAT)


def read_joined(path: str | Path) -> pl.DataFrame:
    """Return a table of a study as it is computed, from its Parquet file."""
    return join_formats(pl.read_parquet(path))


def is_default(column: str = "model") -> pl.Expr:
    """Return whether rows are of the default format, by a column of models or families."""
    return ~pl.col(column).cast(pl.String).str.contains(BETWEEN, literal=True)


def in_default_format(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the default format, as tables are computed; all if none names a model."""
    named = [is_default(name) for name in NAMING if name in table.columns]
    return table.filter(*named) if named else table
