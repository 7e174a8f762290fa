"""A model's answers to the items of a dataset, and their grades."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from userturn.sources.source import ANSWERS, Asked, Load, Sizes, Source, requests
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

GRADES_VERSION = 3


def answers_path(model: str, dataset: str) -> str:
    """Return the path of a model's answers to a dataset, from `results/` on."""
    return f"results/answers/{model}/{dataset}.parquet"


def asked(grid: Grid) -> Iterator[Asked]:
    """Yield the answers of each model to each dataset."""
    for model in grid.models:
        drawn = grid.answer_settings(model)
        for dataset in grid.datasets:
            yield Asked(
                answers_path(model, dataset),
                model,
                dataset,
                grid.answers_identity(model, dataset),
                ANSWERS,
                partial(_count, dataset, drawn["max_tokens"]),
                drawn=drawn,
            )


def _count(dataset: str, n_written: int, sizes: Sizes) -> Load:
    size = sizes[dataset]
    return requests(size.n_items, size.n_tokens, n_written)


def grades_identity(grid: Grid, answers: str, dataset: str, folder: str) -> str:
    """Return the identity of grades of answers; voiding those that stayed open changes it.

    Args:
        grid: of the study.
        answers: identity of the answers.
        dataset: name.
        folder: the path of the grades below the results, without its ending.
    """
    judge, asked = grid.grader(dataset), list[Any]()
    if judge:
        asked.append(grid.judge_identity(judge))
        if n := grid.n_rejudged(judge, folder):
            asked.append(n)
    return fingerprint([GRADES_VERSION, answers, grid.datasets[dataset]["verifier"], *asked])


def grades(grid: Grid) -> dict[str, str]:
    """Return the identity of the grades of all answers, by path."""
    return {
        f"results/{folder}.parquet": grades_identity(
            grid, grid.answers_identity(model, dataset), dataset, folder
        )
        for model in grid.models
        for dataset in grid.datasets
        for folder in [f"grades/{model}/{dataset}"]
    }


SOURCE = Source(asked, beside=grades)
