"""From verdicts and grades to what a paper reports: one pass over the verdicts, every table."""

from collections.abc import Mapping, Sequence

import polars as pl

from userturn.config.families import bases
from userturn.prompts.perturbations import controls_of
from userturn.storage.parquet import write_all
from userturn.study.grid import Grid
from userturn.tables.contrasts import (
    contrasts,
)
from userturn.tables.correlations import correlations
from userturn.tables.decoupling import decoupling
from userturn.tables.failure_profiles import failure_profiles
from userturn.tables.families import families_table
from userturn.tables.item_association import item_association
from userturn.tables.item_counts import count_items
from userturn.tables.pooled_rates import pooled_rates
from userturn.tables.post_training import accuracy_contrasts, post_training
from userturn.tables.print_layout import PRINTED
from userturn.tables.temperature_response import temperature_response


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
    members, before = families_table(grid.models), bases(grid.models)
    known = members.select("model", "family").cast({"model": pl.Categorical})
    items = items.join(known, on="model", how="left")
    differences = contrasts(items, before, controls_of(grid.perturbations), seed, n_resamples)
    beside = decoupling(items, grades, members, seed, n_resamples)
    accuracies = accuracy_contrasts(grades, members, before, seed, n_resamples)
    return {
        "families": members,
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
