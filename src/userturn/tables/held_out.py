"""Mark the datasets that a trained model has seen.

A recipe declares the datasets that it trained on; all others are reported as held out.
"""

from collections.abc import Iterable

import polars as pl

from userturn.config.training_exposure import Entries, Recipes, trained_on, trains_on_the_metric
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL

SEEN: Schema = {"seen": pl.Boolean, "trains_on_the_metric": pl.Boolean}


def mark_seen(
    table: pl.DataFrame,
    entries: Entries,
    recipes: Recipes,
    datasets: Iterable[str],
    model: str = "condition",
) -> pl.DataFrame:
    """Return a table with `seen` and `trains_on_the_metric` for each trained model and dataset.

    The dataset `all` is seen if any dataset is. Both are null for models that were not trained
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
        on_metric = trains_on_the_metric(entries, recipes, name)
        rows += [(name, dataset, dataset in seen, on_metric) for dataset in datasets]
        rows.append((name, ALL, bool(seen & set(datasets)), on_metric))
    schema: Schema = {model: pl.String, "dataset": pl.String, **SEEN}
    known = pl.DataFrame(rows, schema=schema, orient="row")
    return table.join(known, on=[model, "dataset"], how="left", maintain_order="left")
