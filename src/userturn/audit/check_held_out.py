"""Is a dataset that occurs in training data marked as seen?"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import polars as pl

from userturn.storage.parquet import Schema
from userturn.study.cells import ALL

FINDINGS: Schema = {"model": pl.String, "dataset": pl.String, "finding": pl.String}


def held_out_findings(
    trained_on: Mapping[str, Collection[str]],
    datasets: Sequence[str],
    overlap: pl.DataFrame,
    contrasts: pl.DataFrame,
) -> pl.DataFrame:
    """Return the datasets that a study reports as held out although its models have seen them.

    Args:
        trained_on: the datasets that recipes declare, for each model that was trained here.
        datasets: names of the study's datasets.
        overlap: `tables/training_overlap`.
        contrasts: `tables/contrasts`.

    Returns:
        `model`, `dataset`, `finding`: one sentence.
    """
    found = [
        *_unmarked(trained_on, datasets, contrasts.filter(pl.col("factor") == "model")),
        *_unmarked(trained_on, datasets, overlap.rename({"model": "condition"})),
        *_undeclared(trained_on, datasets, overlap),
    ]
    return pl.DataFrame(found, schema=FINDINGS, orient="row").unique(maintain_order=True)


def _unmarked(
    trained_on: Mapping[str, Collection[str]], datasets: Sequence[str], table: pl.DataFrame
) -> Iterator[tuple[str, str, str]]:
    """Yield the datasets that a table reports as held out although a recipe declares them."""
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
    """Yield datasets that were never compared with the training data, or occur in it undeclared."""
    compared = {(row["model"], row["dataset"]): row for row in overlap.iter_rows(named=True)}
    for model in sorted(trained_on):
        for dataset in sorted(set(datasets) - set(trained_on[model])):
            row = compared.get((model, dataset))
            if row is None:
                yield model, dataset, f"{dataset} was not compared with {model}'s training data"
            elif row["n_exact"] or row["n_near"]:
                yield (
                    model,
                    dataset,
                    f"{row['n_exact']} items of {dataset} occur in the training data of {model}, "
                    f"{row['n_near']} more nearly, but its recipe does not declare it",
                )
