"""Table `families`: family, size and base of each model."""

from collections.abc import Mapping

import polars as pl

from userturn.config.entries import ModelEntry
from userturn.config.families import families
from userturn.storage.parquet import Schema
from userturn.tables.material import Material


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return families_table(material.grid.models)


def families_table(models: Mapping[str, ModelEntry]) -> pl.DataFrame:
    """Return `model`, `family`, `size` and `active_size` of all models, as `families` does."""
    sizes: Schema = {"size": pl.Float64, "active_size": pl.Float64}
    schema: Schema = {"model": pl.String, "family": pl.String, **sizes}
    return pl.DataFrame(families(models), schema=schema, orient="row")
