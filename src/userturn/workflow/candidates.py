"""Inputs and params of rules/candidates.smk: candidates, their grades, and verdicts after them."""

from functools import cached_property

from userturn.storage.hashing import fingerprint
from userturn.study.candidates import (
    ANSWERS,
    USER_TURNS,
    CandidateTable,
    candidate_sources,
    candidates_identity,
)
from userturn.study.grid import Grid
from userturn.study.scored_turns import REACTIONS, ScoredTurns, scores_identity
from userturn.workflow.grading import GRADES_VERSION

SIGNALS_VERSION = 2


class CandidateGrid:
    """The candidates of a grid; none without several answers of an item."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    @cached_property
    def sources(self) -> list[tuple[str, str]]:
        """Each model and dataset with candidates."""
        return candidate_sources(self.grid)

    def _files(self, name: str) -> list[str]:
        return [f"results/candidates/{model}/{dataset}/{name}" for model, dataset in self.sources]

    @property
    def inputs(self) -> dict[str, list[str]]:
        """The files that the table of signals is made from."""
        judges, scored = self.grid.judges, [ScoredTurns(*s, REACTIONS) for s in self.sources]
        datasets = sorted({dataset for _, dataset in self.sources})
        verdicts = [self._files(f"verdicts/{judge}.parquet") for judge in judges]
        return {
            "candidates": self._files("answers.parquet"),
            "candidate_grades": self._files("grades.parquet"),
            "candidate_verdicts": [path for of_judge in verdicts for path in of_judge],
            "candidate_items": [f"results/datasets/{name}.parquet" for name in datasets],
            "reactions": [f"results/likelihood/{of.file}" for of in scored],
        }

    def answers_identity(self, model: str, dataset: str) -> str:
        """Return the identity of candidates."""
        return candidates_identity(self.grid, CandidateTable(model, dataset, ANSWERS))

    def turns_identity(self, model: str, dataset: str) -> str:
        """Return the identity of the user turns after candidates."""
        return candidates_identity(self.grid, CandidateTable(model, dataset, USER_TURNS))

    def grades_identity(self, model: str, dataset: str) -> str:
        """Return the identity of the grades of candidates."""
        verifier = self.grid.datasets[dataset]["verifier"]
        return fingerprint([GRADES_VERSION, self.answers_identity(model, dataset), verifier])

    def identity_of(self, model: str, dataset: str, judge: str) -> str:
        """Return the identity of one judge's verdicts on the turns after candidates."""
        turns = self.turns_identity(model, dataset)
        return self.grid.judged_identity(turns, judge, f"candidates/{model}/{dataset}")

    @property
    def identity(self) -> str:
        """The identity of the table of signals."""
        found = [
            [
                self.grades_identity(*source),
                scores_identity(self.grid, ScoredTurns(*source, REACTIONS)),
                *(self.identity_of(*source, judge) for judge in self.grid.judges),
            ]
            for source in self.sources
        ]
        return fingerprint([SIGNALS_VERSION, found])
