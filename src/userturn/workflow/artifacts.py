"""The artifacts of a study: every file that its configuration requires, with its identity."""

from userturn.study.cells import files_of
from userturn.study.scored_turns import scored_turns, scores_identity
from userturn.study.self_play import ANSWERS, depth_identity
from userturn.workflow.registry import FIGURES, TABLES, paths_of, paths_of_figure
from userturn.workflow.study import Study

Identities = dict[str, str | None]


def asked_for(study: Study) -> Identities:
    """Return the identity of every artifact of a study, by path.

    Paths are those in rules, from `results/` on. None means that an artifact has no identity of its
    own, because its inputs identify it.
    """
    return {
        "results/study.json": study.audit.record_identity,
        **_sources(study),
        **_answers(study),
        **_cells(study),
        **_self_play(study),
        **_scores(study),
        **_candidates(study),
        **_controls(study),
        **_of_the_study(study),
    }


def targets(study: Study) -> list[str]:
    """Return the files that a plain run makes: each that is lost comes back."""
    tables = [path for name in study.tables.names for path in paths_of(name)]
    figures = [path for name in study.figures.names for path in paths_of_figure(name)]
    artifacts = [path for path in asked_for(study) if not is_optional(path)]
    return list(dict.fromkeys(artifacts + tables + figures))


def is_optional(path: str) -> bool:
    """Return whether an artifact may be missing, as that of cells added after a round was drawn."""
    return path.endswith("/human_sample.parquet")


def _sources(study: Study) -> Identities:
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


def _answers(study: Study) -> Identities:
    pairs = [(model, dataset) for model in study.grid.models for dataset in study.grid.datasets]
    answers = {
        f"results/answers/{model}/{dataset}.parquet": study.grid.answers_identity(model, dataset)
        for model, dataset in pairs
    }
    grades = {
        f"results/grades/{model}/{dataset}.parquet": study.grading.identity_of(model, dataset)
        for model, dataset in pairs
    }
    languages = {
        path: study.languages.identity_of(*source)
        for path, source in zip(study.languages.files, study.languages.sources, strict=True)
    }
    return {**answers, **grades, **languages}


def _cells(study: Study) -> Identities:
    found: Identities = {}
    sampled = set(study.humans.cells)
    for cell in study.grid.cells:
        turns, summary, sample = files_of(
            [cell], "user_turns.parquet", "summary.parquet", "human_sample.parquet"
        )
        found[turns] = study.grid.cell_identity(cell)
        found[summary] = study.tables.summary_identity(cell)
        if cell in sampled:
            found[sample] = study.humans.sample_identity(cell)
        for judge in study.grid.judges:
            path = files_of([cell], f"verdicts/{judge}.parquet")[0]
            found[path] = study.grid.verdicts_identity(cell, judge)
    return found


def _self_play(study: Study) -> Identities:
    found: Identities = {}
    for at in study.self_play.depths:
        turns = depth_identity(study.grid, at)
        found[at.path_to_conversations] = found[at.path_to_user_turns] = turns
        found[f"results/{at.folder}/answers.parquet"] = depth_identity(study.grid, at, ANSWERS)
        for judge in study.grid.judges:
            path = f"results/{at.folder}/verdicts/{judge}.parquet"
            found[path] = study.self_play.verdicts_identity(at, judge)
    return found


def _scores(study: Study) -> Identities:
    return {
        f"results/likelihood/{scored.file}": scores_identity(study.grid, scored)
        for scored in scored_turns(study.grid)
    }


def _candidates(study: Study) -> Identities:
    found: Identities = {}
    for model, dataset in study.candidates.sources:
        folder = f"results/candidates/{model}/{dataset}"
        found[f"{folder}/answers.parquet"] = study.candidates.answers_identity(model, dataset)
        found[f"{folder}/user_turns.parquet"] = study.candidates.turns_identity(model, dataset)
        found[f"{folder}/grades.parquet"] = study.candidates.grades_identity(model, dataset)
        for judge in study.grid.judges:
            identity = study.candidates.identity_of(model, dataset, judge)
            found[f"{folder}/verdicts/{judge}.parquet"] = identity
    return found


def _controls(study: Study) -> Identities:
    found: Identities = {}
    for name, kind in (("controls", study.controls), ("chance_floor", study.chance_floor)):
        for model, dataset in kind.sources:
            folder = f"results/{name}/{model}/{dataset}"
            found[f"{folder}/user_turns.parquet"] = kind.turns_identity(model, dataset)
            for judge in study.grid.judges:
                identity = kind.identity_of(model, dataset, judge)
                found[f"{folder}/verdicts/{judge}.parquet"] = identity
    for source in study.labelled.sources:
        turns = study.labelled.turns_identity
        found |= dict.fromkeys(
            [*study.labelled.items, "results/labelled/user_turns.parquet"], turns
        )
        for judge, path in zip(study.grid.judges, study.labelled.verdicts, strict=True):
            found[path] = study.labelled.identity_of(*source, judge)
    return found


def _of_the_study(study: Study) -> Identities:
    tables = {f"results/tables/{name}.parquet": TABLES[name].rule for name in study.tables.names}
    figures = {
        f"results/figures/{name}.vl.json": FIGURES[name].rule for name in study.figures.names
    }
    kinds = (study.humans, study.pairs)
    labels = {
        path: rounds.annotations_identity(name)
        for rounds in kinds
        for name, path in zip(rounds.rounds, rounds.annotations, strict=True)
    }
    unnamed = [path for kind in kinds for path in (*kind.pages, *kind.keys, *kind.items)]
    return {
        **{path: study.tables.identity_of(rule) for path, rule in (tables | figures).items()},
        **labels,
        **dict.fromkeys(unnamed),
        "results/report/index.html": study.report.identity,
    }
