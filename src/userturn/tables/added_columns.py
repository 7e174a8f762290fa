"""Columns that a table gets when it is written: `format`, and what trained models have seen.

Tables are computed with a model in another format as a line of its own, `model+format`, whose
family is `family+format`: so no pool mixes formats. Files have the two names in two columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from userturn.config.formats import BETWEEN, DEFAULT
from userturn.config.trained_models import (
    Entries,
    Recipes,
    learns_user_turns,
    trained_on,
    trains_on_the_metric,
)
from userturn.stats.significance import holm
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL
from userturn.study.grid import Grid

HELD_OUT = "all held out"  # a pool: all datasets that a model has not seen
SEEN: Schema = {**dict.fromkeys(("seen", "trains_on_the_metric", "learns_user_turns"), pl.Boolean)}


def mark_seen(
    table: pl.DataFrame,
    entries: Entries,
    recipes: Recipes,
    datasets: Iterable[str],
    model: str = "condition",
) -> pl.DataFrame:
    """Return a table with the columns of `SEEN` for each trained model and dataset.

    The dataset `all` is seen if any of `datasets` is. The columns are null for models that were
    not trained here, since their training data are unknown. `model` is the column with the models.
    """
    datasets = list(datasets)
    rows = []
    for name in [name for name, entry in entries.items() if "recipe" in entry]:
        seen = trained_on(entries, recipes, name)
        how = (
            trains_on_the_metric(entries, recipes, name),
            learns_user_turns(entries, recipes, name),
        )
        rows += [(name, dataset, dataset in seen, *how) for dataset in datasets]
        rows += [(name, ALL, bool(seen & set(datasets)), *how), (name, HELD_OUT, False, *how)]
    schema: Schema = {model: pl.String, "dataset": pl.String, **SEEN}
    seen_datasets = pl.DataFrame(rows, schema=schema, orient="row")
    return table.join(seen_datasets, on=[model, "dataset"], how="left", maintain_order="left")


def marked(table: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Return a table of models and datasets with the columns of `SEEN`, if the study trains any."""
    has_both = all(table.schema.get(name) == pl.String for name in ("model", "dataset"))
    if not grid.trained or not has_both or "seen" in table.columns:
        return table
    return mark_seen(table, grid.entries, grid.contents.recipes, grid.datasets, "model")


def unmarked(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Return a table without the columns that `marked` added to those of its schema."""
    return table.drop([name for name in SEEN if name not in schema], strict=False)


NAMING = ("model", "family")  # columns that may hold a format; the first one present decides
FORMAT = "format"
ALSO = ("base", "baseline", "condition")  # columns with models whose format the row already names


def split_formats(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with a column `format` after the model's, or unchanged if it has no format."""
    named = [name for name in (*NAMING, *ALSO) if name in table.columns]
    naming = [name for name in NAMING if name in named]
    parts = {name: pl.col(name).str.split_exact(BETWEEN, 1).struct for name in named}
    formats = [parts[name].field("field_1") for name in naming]
    formats_of_rows = table.select(pl.coalesce(*formats, pl.lit(None)).alias(FORMAT)).to_series()
    if not naming or not formats_of_rows.count():
        return table
    split = table.with_columns(parts[name].field("field_0").alias(name) for name in named)
    return split.insert_column(
        table.columns.index(naming[0]) + 1, formats_of_rows.fill_null(DEFAULT)
    )


def join_formats(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with names such as `model+format`, as before `split_formats`.

    Columns that name the two ends of a contrast stay split.
    """
    if FORMAT not in table.columns:
        return table
    other = pl.col(FORMAT) != DEFAULT

    def joined(name: str) -> pl.Expr:
        full = pl.format("{}" + BETWEEN + "{}", name, FORMAT)
        return pl.when(other & (pl.col(name) != ALL)).then(full).otherwise(name).alias(name)

    there = [name for name in (*NAMING, "base") if name in table.columns]
    return table.with_columns(joined(name) for name in there).drop(FORMAT)


def read_joined(path: str | Path) -> pl.DataFrame:
    """Return the table in a Parquet file, with formats joined to names as in `model+format`."""
    return join_formats(pl.read_parquet(path))


def is_default(column: str = "model") -> pl.Expr:
    """Return an expression: is a row of the default format, by a column of models or families?"""
    return ~pl.col(column).cast(pl.String).str.contains(BETWEEN, literal=True)


def default_format_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the default format of a computed table, or all if it names no model."""
    named = [is_default(name) for name in NAMING if name in table.columns]
    return table.filter(*named) if named else table


def stacked(parts: Mapping[str, pl.DataFrame], column: str, schema: Schema) -> pl.DataFrame:
    """Return tables below each other in the columns of `schema`, with their names in `column`."""
    named = [part.with_columns(pl.lit(name).alias(column)) for name, part in parts.items()]
    whole = pl.concat([pl.DataFrame(schema=schema), *named], how="diagonal_relaxed")
    return whole.select(pl.col(name).cast(kind) for name, kind in schema.items())


def add_holm(table: pl.DataFrame, sets: str | Sequence[str]) -> pl.DataFrame:
    """Return a table with `p_adjusted`, by Holm over the rows with equal values in `sets`."""
    parts = []
    for part in table.partition_by(sets, maintain_order=True):
        adjusted = np.full(part.height, np.nan)
        tested = part["p"].is_not_null().to_numpy()
        adjusted[tested] = holm(part["p"].drop_nulls().to_numpy())
        parts.append(part.with_columns(p_adjusted=pl.Series(adjusted).fill_nan(None)))
    return pl.concat(parts) if parts else table
