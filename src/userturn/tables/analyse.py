"""From verdicts and grades to what a paper reports: one pass over the verdicts, every table."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from userturn.config.families import bases, families
from userturn.prompts.perturbations import controls_of
from userturn.storage.parquet import Schema, write_all
from userturn.study.grid import Grid
from userturn.tables.contrasts import (
    CONTRAST_SCHEMA,
    PLAIN,
    compare,
    contrasts,
    pairs,
)
from userturn.tables.decoupling import correlations, decoupling, item_association
from userturn.tables.held_out import mark_seen
from userturn.tables.item_counts import count_items
from userturn.tables.pooled_rates import failure_profiles, pooled_rates
from userturn.tables.print_layout import PRINTED
from userturn.tables.temperature_response import temperature_response


def accuracy_contrasts(
    grades: pl.DataFrame, families: pl.DataFrame, bases: Mapping[str, str], seed: int, n: int
) -> pl.DataFrame:
    """Return how the accuracy of each post-trained model differs from its base's."""
    graded = grades.filter(pl.col("correct").is_not_null()).join(families, on="model")
    shares = graded.select(
        "model",
        "dataset",
        "item",
        "family",
        temperature=pl.lit(None, dtype=pl.Float64),
        perturbation=pl.lit(PLAIN),
        judge=pl.lit("verifier"),
        share=pl.col("correct").cast(pl.Float64),
        once=True,
    )
    tables = [pl.DataFrame(schema=CONTRAST_SCHEMA)]
    for after, before in bases.items():
        two = shares.filter(pl.col("model").is_in([after, before]))
        paired = pairs(two, "model", before, ["dataset", "item"])
        tables.append(compare(paired, seed, n))
    return pl.concat(tables)


def post_training(contrasts: pl.DataFrame, accuracies: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Return what post-training changes in follow-ups and in accuracy, on shared items.

    `seen` and `trains_on_the_metric` say how each is to be read; see `held_out.mark_seen`.
    """
    followups = contrasts.filter(pl.col("factor") == "model")
    table = pl.concat(
        [
            followups.select(pl.lit("follow-up").alias("measure"), pl.all()),
            accuracies.select(pl.lit("accuracy").alias("measure"), pl.all()),
        ]
    ).filter(pl.col("scope") != "family")
    table = mark_seen(table, grid.lines, grid.contents.recipes, grid.datasets)
    if table.height:
        return table
    reason = "no model line of this study names its base"
    return pl.DataFrame([{"reason": reason}], schema=table.schema)


def families_table(models: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """Return `model`, `family`, `size` and `active_size` of all models, as `families` does."""
    sizes: Schema = {"size": pl.Float64, "active_size": pl.Float64}
    schema: Schema = {"model": pl.String, "family": pl.String, **sizes}
    return pl.DataFrame(families(models), schema=schema, orient="row")


def analysed(
    items: pl.DataFrame, grades: pl.DataFrame, grid: Grid, n_resamples: int
) -> dict[str, pl.DataFrame]:
    """Return every table by its name.

    Args:
        items: as `counting.count_items` gives them.
        grades: of all models and datasets.
        grid: of the study.
        n_resamples: bootstrap resamples, sign flips and permutations.
    """
    seed = int(grid.config["seed"])
    lines, before = families_table(grid.models), bases(grid.models)
    known = lines.select("model", "family").cast({"model": pl.Categorical})
    items = items.join(known, on="model", how="left")
    differences = contrasts(items, before, controls_of(grid.perturbations), seed, n_resamples)
    beside = decoupling(items, grades, lines, seed, n_resamples)
    accuracies = accuracy_contrasts(grades, lines, before, seed, n_resamples)
    return {
        "families": lines,
        "pooled_rates": pooled_rates(items, seed, n_resamples),
        "failure_profiles": failure_profiles(items, seed, n_resamples),
        "contrasts": differences,
        "temperature_response": temperature_response(differences),
        "post_training": post_training(differences, accuracies, grid),
        "decoupling": beside,
        "correlations": correlations(beside, items, seed, n_resamples),
        "item_association": item_association(items, grades),
    }


def analyse(
    grid: Grid,
    identity: str,
    paths_to_verdicts: Sequence[str],
    paths_to_grades: Sequence[str],
    paths_to_tables: Mapping[str, Sequence[str]],
) -> None:
    """Write every table that is made from all verdicts and grades.

    Args:
        grid: of the study.
        identity: of the tables.
        paths_to_verdicts: of every cell and judge.
        paths_to_grades: of every model and dataset.
        paths_to_tables: by the table's name, a path for each format.
    """
    grades = pl.concat([pl.read_parquet(path) for path in sorted(paths_to_grades)])
    items = count_items(paths_to_verdicts)
    tables = analysed(items, grades, grid, grid.config["statistics"]["resamples"])
    for name, paths in paths_to_tables.items():
        write_all(tables[name], paths, identity, PRINTED.get(name))
