"""Params of rules/grading.smk: the verifier of a dataset, and the identity of grades."""

from typing import Any

from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

GRADES_VERSION = 3


class GradingGrid:
    """The grades of a grid."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    def verifier(self, dataset: str) -> str:
        """Return the verifier of a dataset."""
        return self.grid.datasets[dataset]["verifier"]

    def identity_of(self, model: str, dataset: str) -> str:
        """Return the identity of a model's grades on a dataset; voiding open ones changes it."""
        judge = self.grid.grader(dataset)
        asked: list[Any] = [self.grid.judge_identity(judge)] if judge else []
        if judge and (n := self.grid.n_rejudged(judge, f"grades/{model}/{dataset}")):
            asked.append(n)
        answers = self.grid.answers_identity(model, dataset)
        return fingerprint([GRADES_VERSION, answers, self.verifier(dataset), *asked])

    def n_at_once(self, dataset: str) -> int:
        """Return how many requests a verifier may have in flight; 0 for one without a judge."""
        judge = self.grid.grader(dataset)
        return int(self.grid.all_judges[judge]["concurrency"]) if judge else 0
