"""Several answers of each item, the candidates, and one user turn after each of them.

The first candidate is the answer that everything else of a study is made of. How many there are is
no part of the identity of answers and cells, so that more candidates leave these finished.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from userturn.config.entries import Config, selected
from userturn.config.errors import ConfigError
from userturn.errors import UserError
from userturn.sources.answers import answers_path, grades_identity
from userturn.sources.scores import SCORES_VERSION, n_own_distractors, scores_path
from userturn.sources.source import (
    ANSWERS,
    SCORES,
    USER_TURNS,
    Asked,
    JudgeRule,
    Load,
    Sizes,
    Source,
    Turns,
    longest_exchange,
    requests,
)
from userturn.storage.hashing import fingerprint
from userturn.study.cells import PLAIN
from userturn.study.grid import Grid
from userturn.study.inputs import REACTIONS as REACTIONS_FILE

CANDIDATES_VERSION = 1
UNGRADED = ("none", "rubric")  # verifiers that call no answer right or wrong
REACTIONS = "reactions"  # as a table of scores
SATISFACTION, CORRECTION = "satisfaction", "correction"
KINDS = (SATISFACTION, CORRECTION)  # of reactions
KINDS_OF_TABLES = {"answers": ANSWERS, "user_turns": USER_TURNS}  # by the names of files


class CandidateTable(NamedTuple):
    """One table of candidates of a model and dataset: `answers`, or the `user turns` after them."""

    model: str
    dataset: str
    kind: str

    @property
    def folder(self) -> str:
        """The folder of all files of these candidates, below the results."""
        return f"candidates/{self.model}/{self.dataset}"

    @property
    def path(self) -> str:
        """Path of the table, from `results/` on."""
        return f"results/{self.folder}/{self.kind.replace(' ', '_')}.parquet"


def n_candidates(config: Config) -> int:
    """Return the number of answers of each item; 1 where candidates are off."""
    return int(config["answer"].get("samples", 1))


def check(config: Config) -> None:
    """Check that several answers of an item can differ.

    Raises:
        ConfigError: they cannot.
    """
    n = config["answer"].get("samples", 1)
    for name, entry in selected(config, "models").items():
        own = entry.get("answer", {}) if isinstance(entry, Mapping) else {}
        if n > 1 and {**config["answer"], **own}["temperature"] == 0:
            where = f"models.{name}.answer" if "temperature" in own else "answer"
            raise ConfigError(
                f"{where}.temperature: found 0 with answer.samples {n}, and such answers are all "
                "the same; set a temperature above 0, such as 0.7, or leave answer.samples out"
            )


def candidate_sources(grid: Grid) -> list[tuple[str, str]]:
    """Return each model and graded dataset that have candidates, sorted."""
    if n_candidates(grid.config) == 1:
        return []
    graded = [name for name, e in grid.datasets.items() if e["verifier"] not in UNGRADED]
    return [(model, dataset) for model in grid.models for dataset in graded]


def candidate_tables(grid: Grid, kind: str) -> list[CandidateTable]:
    """Return the tables of candidates of one kind, sorted."""
    return [CandidateTable(*pair, kind) for pair in candidate_sources(grid)]


def turn_temperature(grid: Grid) -> float:
    """Return the temperature of the turns after candidates: the lowest of the grid."""
    return min(grid.temperatures.values())


def candidates_identity(grid: Grid, wanted: CandidateTable) -> str:
    """Return the identity of a table of candidates: everything that shapes it."""
    answers = grid.answers_identity(wanted.model, wanted.dataset)
    shaping: list[Any] = [CANDIDATES_VERSION, answers, n_candidates(grid.config)]
    if wanted.kind == USER_TURNS:
        shaping.append(grid.user_turn_settings(turn_temperature(grid)))
    return fingerprint(shaping)


def asked(grid: Grid) -> Iterator[Asked]:
    """Yield the candidates of each model and graded dataset, the turns after them, and scores."""
    for of in candidate_tables(grid, ANSWERS):
        turns = of._replace(kind=USER_TURNS)
        drawn = grid.user_turn_settings(turn_temperature(grid))
        yield _asked(grid, of, grid.answer_settings(of.model))
        yield _asked(grid, turns, drawn, (answers_path(of.model, of.dataset), of.path))
        path, count = scores_path(of.model, of.dataset, REACTIONS), partial(_scores, grid, of)
        after = answers_path(of.model, of.dataset), of.path, turns.path
        identity = reactions_identity(grid, of, turns)
        yield Asked(path, of.model, of.dataset, identity, SCORES, count, after)


def _asked(
    grid: Grid, of: CandidateTable, drawn: dict[str, Any], after: tuple[str, ...] = ()
) -> Asked:
    identity, count = candidates_identity(grid, of), partial(_requests, grid, of)
    return Asked(of.path, of.model, of.dataset, identity, of.kind, count, after, drawn)


def reactions_identity(grid: Grid, of: CandidateTable, turns: CandidateTable) -> str:
    """Return the identity of the scores of fixed user turns, candidates, and turns after them.

    Args:
        grid: of the study.
        of: the candidates.
        turns: the user turns after them, which are scored where other own turns are.
    """
    candidates = candidates_identity(grid, of)
    shaping: list[Any] = [SCORES_VERSION, REACTIONS, candidates, grid.contents.reactions]
    if n_distractors := n_own_distractors(grid.config):
        after = candidates_identity(grid, turns)
        shaping += [n_distractors, grid.config["seed"], after, len(grid.shards(of.model))]
    return fingerprint(shaping)


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the user turns after the candidates of each model and graded dataset."""
    for of in candidate_tables(grid, USER_TURNS):
        identity, items = candidates_identity(grid, of), f"results/datasets/{of.dataset}.parquet"
        count = partial(_questions, grid, of)
        yield Turns(of.folder, of.model, of.dataset, identity, items, count)


def grades(grid: Grid) -> dict[str, str]:
    """Return the identity of the grades of all candidates, by path."""
    return {
        f"results/{of.folder}/grades.parquet": grades_identity(
            grid, candidates_identity(grid, of), of.dataset, f"{of.folder}/grades"
        )
        for of in candidate_tables(grid, ANSWERS)
    }


def read_reactions(path: str) -> dict[str, str]:
    """Return the texts of a file of reactions by name, such as `satisfaction 1`.

    Raises:
        UserError: it has not a list of texts for each kind.
    """
    found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(found, Mapping) or set(found) != set(KINDS):
        raise UserError(
            f"'{path}': found {found!r:.60}, expected the lists {' and '.join(KINDS)} of user turns"
        )
    for kind, texts in found.items():
        if not (isinstance(texts, list) and texts and all(isinstance(t, str) for t in texts)):
            raise UserError(f"'{path}': {kind}: found {texts!r:.60}, expected a list of user turns")
    return {
        f"{kind} {number}": text
        for kind in KINDS
        for number, text in enumerate(found[kind], start=1)
    }


def _requests(grid: Grid, of: CandidateTable, sizes: Sizes) -> Load:
    """Return the requests of all candidates but the first, which answers and cells have."""
    size, answer = sizes[of.dataset], grid.answer_settings(of.model)["max_tokens"]
    n = size.n_items * (n_candidates(grid.config) - 1)
    if of.kind == ANSWERS:
        return requests(n, size.n_tokens, answer)
    if PLAIN not in grid.perturbations:
        n += size.n_items
    return requests(n, size.n_tokens + answer, grid.config["user_turn"]["max_tokens"])


def _questions(grid: Grid, of: CandidateTable, sizes: Sizes) -> Load:
    read = sizes[of.dataset].n_tokens + longest_exchange(grid, of.model)
    return requests(sizes[of.dataset].n_items * n_candidates(grid.config), read)


def _scores(grid: Grid, of: CandidateTable, sizes: Sizes) -> Load:
    size, answer = sizes[of.dataset], grid.answer_settings(of.model)["max_tokens"]
    n = size.n_items * n_candidates(grid.config)
    n_fixed = n * (1 + len(read_reactions(REACTIONS_FILE)))
    others = min(n_own_distractors(grid.config), max(0, size.n_items - 1))
    n_own = n * (1 + others) if others else 0
    read = (n_fixed + n_own) * (size.n_tokens + answer)
    return Load(n_fixed + n_own, read + n_own * grid.config["user_turn"]["max_tokens"])


SOURCE = Source(
    asked, judged, JudgeRule("judge_candidates", "candidates/{model}/{dataset}"), grades, check
)
