"""What a trained model has seen, and whether the tables say so.

A recipe declares the datasets that it trained on; all others are reported as held out. Nothing
here reads or writes a file.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import polars as pl

from userturn.config.training_exposure import Lines, Recipes, trained_on, trains_on_the_metric
from userturn.storage.parquet import Schema

ALL = "all"
SEEN: Schema = {"seen": pl.Boolean, "trains_on_the_metric": pl.Boolean}
FINDINGS: Schema = {"model": pl.String, "dataset": pl.String, "finding": pl.String}


def mark_seen(
    table: pl.DataFrame,
    lines: Lines,
    recipes: Recipes,
    datasets: Iterable[str],
    model: str = "condition",
) -> pl.DataFrame:
    """Return a table with `seen` and `trains_on_the_metric` for each trained model and dataset.

    The dataset `all` is seen where any of them is. Both are null for models that were not trained
    here: nothing is known of them.

    Args:
        table: with a column of models and one `dataset`.
        lines: complete model lines by name.
        recipes: of the models that are trained here.
        datasets: of the study.
        model: the column of models.
    """
    datasets = list(datasets)
    rows = []
    for name in [name for name, line in lines.items() if "recipe" in line]:
        seen = trained_on(lines, recipes, name)
        on_metric = trains_on_the_metric(lines, recipes, name)
        rows += [(name, dataset, dataset in seen, on_metric) for dataset in datasets]
        rows.append((name, ALL, bool(seen & set(datasets)), on_metric))
    schema: Schema = {model: pl.String, "dataset": pl.String, **SEEN}
    known = pl.DataFrame(rows, schema=schema, orient="row")
    return table.join(known, on=[model, "dataset"], how="left", maintain_order="left")


def held_out_findings(
    trained_on: Mapping[str, Collection[str]],
    datasets: Sequence[str],
    overlap: pl.DataFrame,
    post_training: pl.DataFrame,
) -> pl.DataFrame:
    """Return where a study reports as held out what its models have seen; no row is a good sign.

    Args:
        trained_on: the datasets that recipes declare, for each model that was trained here.
        datasets: of the study.
        overlap: `tables/training_overlap`.
        post_training: `tables/post_training`.

    Returns:
        `model`, `dataset`, `finding`: one sentence.
    """
    found = [
        *_unmarked(trained_on, datasets, post_training),
        *_unmarked(trained_on, datasets, overlap.rename({"model": "condition"})),
        *_undeclared(trained_on, datasets, overlap),
    ]
    return pl.DataFrame(found, schema=FINDINGS, orient="row").unique(maintain_order=True)


def _unmarked(
    trained_on: Mapping[str, Collection[str]], datasets: Sequence[str], table: pl.DataFrame
) -> Iterator[tuple[str, str, str]]:
    """Yield what a table reports as held out although a recipe declares it."""
    reported = table.filter(pl.col("seen").not_().fill_null(True)).select("condition", "dataset")
    for model, dataset in reported.unique(maintain_order=True).iter_rows():
        seen = set(trained_on.get(model, ())) & (set(datasets) if dataset == ALL else {dataset})
        if seen:
            yield (
                model,
                dataset,
                f"{', '.join(sorted(seen))} is reported as held out, but the recipe of {model} "
                "declares it under trained_on",
            )


def _undeclared(
    trained_on: Mapping[str, Collection[str]], datasets: Sequence[str], overlap: pl.DataFrame
) -> Iterator[tuple[str, str, str]]:
    """Yield datasets that were never compared with training data, or stand in it undeclared."""
    compared = {(row["model"], row["dataset"]): row for row in overlap.iter_rows(named=True)}
    for model in sorted(trained_on):
        for dataset in sorted(set(datasets) - set(trained_on[model])):
            row = compared.get((model, dataset))
            if row is None:
                yield model, dataset, f"{dataset} was never compared with what {model} learnt from"
            elif row["n_exact"] or row["n_near"]:
                yield (
                    model,
                    dataset,
                    f"{row['n_exact']} items of {dataset} stand in the training data of {model}, "
                    f"{row['n_near']} more nearly, but its recipe does not declare it",
                )
