"""Table `families`: family, size and base of each model."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from userturn.config.families import families
from userturn.config.model_keys import ModelEntry
from userturn.storage.table_files import Schema
from userturn.tables.make_tables import Material
from userturn.workflow.registry import Table

TABLE = Table(
    rule="analyse",
    place=320,
    row="a model, by family and size",
    made_of=(),
    settings=("families", "exposure"),
)


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return families_table(material.grid.models, material.grid.contents.recipes)


POST_TRAINED = "{}, post-trained"  # a separate family, not another size of its base's
SCHEMA: Schema = {
    "model": pl.String,
    "family": pl.String,
    "size": pl.Float64,
    "active_size": pl.Float64,
    "base": pl.String,
    "method": pl.String,
}


def families_table(
    models: Mapping[str, ModelEntry], recipes: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    """Return family, size, base and training method of all models, read by `config.families`.

    A model that names its base is of the family `<family>, post-trained`. So pools, slopes and
    correlations over a family contain only models as their makers trained them.
    """
    rows = []
    for name, family, size, active in families(models):
        base = models[name].get("base")
        printed = family if base is None else POST_TRAINED.format(family)
        rows.append((name, printed, size, active, base, recipes.get(name, {}).get("method")))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").sort(
        pl.col("base").is_not_null(), maintain_order=True
    )
