"""The artifacts of a study: every file that its configuration requires, with its identity."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from userturn.sources.registry import artifacts
from userturn.study.cells import files_of
from userturn.workflow.registry import FIGURES, TABLES, paths_of, paths_of_figure

if TYPE_CHECKING:
    from userturn.workflow.study import Study

Identities = dict[str, str | None]


@lru_cache(maxsize=16)
def asked_for(study: Study) -> Identities:
    """Return the identity of every artifact of a study, by path.

    Paths are those in rules, from `results/` on. None means that an artifact has no identity of its
    own, because its inputs identify it.
    """
    return {**study.identities, **_of_the_study(study)}


def made_before_tables(study: Study) -> Identities:
    """Return the identity of every artifact but tables and what shows them, by path."""
    return {
        "results/study.json": study.record_identity,
        **_made_before(study),
        **artifacts(study.grid),
        **_of_turns(study),
        **_of_cells(study),
        **_labels(study),
    }


def targets(study: Study) -> list[str]:
    """Return the files that a plain run makes: each that is lost comes back."""
    tables = [path for name in study.tables.names for path in paths_of(name)]
    figures = [path for name in study.figures.names for path in paths_of_figure(name)]
    made = [path for path in asked_for(study) if not is_optional(path)]
    return list(dict.fromkeys(made + tables + figures))


def is_optional(path: str) -> bool:
    """Return whether an artifact may be missing, as that of cells added after a round was drawn."""
    return path.endswith("/human_sample.parquet")


def _made_before(study: Study) -> Identities:
    grid = study.grid
    datasets = {
        path: grid.dataset_identity(path.rpartition("/")[2].removesuffix(".parquet"))
        for path in study.data.prepared
    }
    models = {
        f"results/models/{name}.json": grid.model_fingerprint(name) for name in grid.described
    }
    return {**datasets, **models, **_training(study)}


def _training(study: Study) -> Identities:
    data = {
        f"results/training/{name}/data.parquet": study.training.data_identity(name)
        for name in study.training.models
    }
    records = {
        f"results/training/{name}/training.json": study.grid.training_identity(name)
        for name in study.training.models
    }
    return {**data, **records}


def _of_turns(study: Study) -> Identities:
    return {
        path: kind.identity_of(*source)
        for kind in (study.languages, study.similarities)
        for path, source in zip(kind.files, kind.sources, strict=True)
    }


def _of_cells(study: Study) -> Identities:
    """Return the identity of the samples for people."""
    return {
        files_of([cell], "human_sample.parquet")[0]: study.humans.sample_identity(cell)
        for cell in study.humans.cells
    }


def _labels(study: Study) -> Identities:
    kinds = (study.humans, study.pairs)
    labels = {
        path: rounds.annotations_identity(name)
        for rounds in kinds
        for name, path in zip(rounds.rounds, rounds.annotations, strict=True)
    }
    unnamed = [path for kind in kinds for path in (*kind.pages, *kind.keys, *kind.items)]
    return {**labels, **dict.fromkeys(unnamed)}


def _of_the_study(study: Study) -> Identities:
    tables = {
        f"results/tables/{name}.parquet": study.tables.identity_of(TABLES[name].rule)
        for name in study.tables.names
    }
    figures = {
        f"results/figures/{name}.vl.json": study.figures.identity_of(FIGURES[name].rule)
        for name in study.figures.names
    }
    return {**tables, **figures, "results/report/index.html": study.report_identity}
