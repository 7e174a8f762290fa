"""A model's answers to the items of a dataset, and their grades."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from userturn.config.formats import answers_as
from userturn.sources.source import (
    ANSWERS,
    ITEMS,
    Asked,
    Job,
    Load,
    Sizes,
    Source,
    collecting,
    identity,
    requests,
)
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

GRADES_VERSION = 3
RULES_2 = ("ifbench", "ifeval", "math", "numeric")  # verifiers whose rules `grading` changes


def answers_path(model: str, dataset: str) -> str:
    """Return the path of a model's answers to a dataset, from `results/` on."""
    return f"results/answers/{model}/{dataset}.parquet"


def asked(grid: Grid) -> Iterator[Asked]:
    """Yield the answers of each model to each dataset.

    Answers that two models share are asked for once.
    """
    for model in grid.models:
        settings, other = grid.answer_settings(model), answers_as(grid.models, model)
        for dataset in grid.datasets:
            yield Asked(
                answers_path(model, dataset),
                model,
                dataset,
                grid.answers_identity(model, dataset),
                ANSWERS,
                partial(_count, dataset, settings["max_tokens"], bool(other)),
                sampling=settings,
                grades=f"results/grades/{model}/{dataset}.parquet",
            )


def _count(dataset: str, n_written: int, is_anothers: bool, sizes: Sizes) -> Load:
    size = sizes[dataset]
    return requests(0 if is_anothers else size.n_items, size.n_tokens, n_written)


def grades_identity(grid: Grid, answers: Asked) -> str:
    """Return the identity of the grades of answers, which changes if undecided ones are voided."""
    grader, shaping = grid.grader(answers.dataset), list[Any]()
    if grader:
        shaping.append(grid.judge_identity(grader))
        folder = answers.grades.removeprefix("results/").removesuffix(".parquet")
        if n := grid.n_rejudged(grader, folder):
            shaping.append(n)
    verifier = grid.datasets[answers.dataset]["verifier"]
    if verifier in RULES_2 and grid.contents.grading != 1:
        shaping.append({"rules": grid.contents.grading})
    return fingerprint([GRADES_VERSION, answers.identity, verifier, *shaping])


def grading(what: str, answers: str, grades: str) -> Job:
    """Return the job that reads the path of answers and writes the path of their grades."""
    return Job(
        f"Grade a model's {what} to one dataset with the dataset's verifier.",
        "grading.grade.grade",
        {"path_to_answers": answers, "path_to_items": ITEMS},
        {"path_to_grades": grades},
        identity(f"identity({grades})") | {"verifier": "study.data.verifier"},
        n_threads=2,
        n_requests="study.data.n_gradings_at_once",
    )


PATH = answers_path("{model}", "{dataset}")
JOBS = {
    "collect_answers": collecting(
        "Collect a model's answers to one dataset from the journal.", PATH
    ),
    "grade": grading("answers", PATH, "results/grades/{model}/{dataset}.parquet"),
}
SOURCE = Source(asked, jobs=JOBS)
