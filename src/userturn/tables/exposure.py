"""What trained models have seen, and whether they learnt what is probed, beside their numbers."""

from collections.abc import Iterable

import polars as pl

from userturn.config.trained_models import (
    Entries,
    Recipes,
    learns_user_turns,
    trained_on,
    trains_on_the_metric,
)
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL
from userturn.study.grid import Grid

HELD_OUT = "all held out"  # as a dataset: every one that a model has not seen
SEEN: Schema = {
    "seen": pl.Boolean,
    "trains_on_the_metric": pl.Boolean,
    "learns_user_turns": pl.Boolean,
}


def mark_seen(
    table: pl.DataFrame,
    entries: Entries,
    recipes: Recipes,
    datasets: Iterable[str],
    model: str = "condition",
) -> pl.DataFrame:
    """Return a table with the columns of `SEEN` for each trained model and dataset.

    The dataset `all` is seen if any dataset is. They are null for models that were not trained
    here, since their training data are unknown.

    Args:
        table: a table with a column of models and a column `dataset`.
        entries: complete model entries by name.
        recipes: recipes of the models that are trained here.
        datasets: names of the study's datasets.
        model: name of the column of models.
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
    known = pl.DataFrame(rows, schema=schema, orient="row")
    return table.join(known, on=[model, "dataset"], how="left", maintain_order="left")


def marked(table: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Return a table of models and datasets with the columns of `SEEN`, if the study trains any.

    So every number of a trained model stands beside what it was trained on.
    """
    has_both = all(table.schema.get(name) == pl.String for name in ("model", "dataset"))
    if not grid.trained or not has_both or "seen" in table.columns:
        return table
    return mark_seen(table, grid.entries, grid.contents.recipes, grid.datasets, "model")


def unmarked(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Return a table without the columns that `marked` added to those of its schema."""
    return table.drop([name for name in SEEN if name not in schema], strict=False)
