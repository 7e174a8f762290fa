"""Several answers of each item, the candidates: which a study has, and the identity of each table.

The first candidate is the answer that everything else of a study is made of. How many there are is
no part of the identity of answers and cells, so that more candidates leave these finished.
"""

from typing import Any, NamedTuple

from userturn.config.entries import Config
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

ANSWERS, USER_TURNS = "answers", "user_turns"
TABLES = (ANSWERS, USER_TURNS)
CANDIDATES_VERSION = 1
UNGRADED = ("none", "rubric")  # verifiers that call no answer right or wrong


class CandidateTable(NamedTuple):
    """One table of candidates of a model and dataset: `answers`, or the `user_turns` after them."""

    model: str
    dataset: str
    table: str

    @property
    def file(self) -> str:
        """The table's file, below results/candidates."""
        return f"{self.model}/{self.dataset}/{self.table}.parquet"


def n_candidates(config: Config) -> int:
    """Return the number of answers of each item; 1 where candidates are off."""
    return int(config["answer"].get("samples", 1))


def candidate_sources(grid: Grid) -> list[tuple[str, str]]:
    """Return each model and graded dataset that have candidates, sorted."""
    if n_candidates(grid.config) == 1:
        return []
    graded = [name for name, e in grid.datasets.items() if e["verifier"] not in UNGRADED]
    return [(model, dataset) for model in grid.models for dataset in graded]


def candidate_tables(grid: Grid) -> list[CandidateTable]:
    """Return all tables of candidates of a study, sorted."""
    return sorted(
        CandidateTable(*pair, name) for pair in candidate_sources(grid) for name in TABLES
    )


def turn_temperature(grid: Grid) -> float:
    """Return the temperature of the turns after candidates: the lowest of the grid."""
    return min(grid.temperatures.values())


def candidates_identity(grid: Grid, wanted: CandidateTable) -> str:
    """Return the identity of a table of candidates: everything that shapes it."""
    answers = grid.answers_identity(wanted.model, wanted.dataset)
    shaping: list[Any] = [CANDIDATES_VERSION, answers, n_candidates(grid.config)]
    if wanted.table == USER_TURNS:
        shaping.append(grid.user_turn_settings(turn_temperature(grid)))
    return fingerprint(shaping)
