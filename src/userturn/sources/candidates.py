"""Several answers of each item, the candidates, and one user turn after each of them.

The first candidate is the answer that everything else of a study is made of. How many there are is
no part of the identity of answers and cells, so that more candidates leave these finished.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from userturn.config.entries import Config, selected
from userturn.errors import ConfigError, UserError
from userturn.sources.answers import answers_path, grading
from userturn.sources.scores import SCORES_VERSION, n_own_distractors, scored_models, scores_path
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
    collecting,
    items_of,
    longest_exchange,
    requests,
    turns_of,
)
from userturn.storage.hashing import fingerprint
from userturn.study.cells import PLAIN
from userturn.study.contents import REACTIONS as REACTIONS_FILE
from userturn.study.grid import Grid

CANDIDATES_VERSION = 1
UNGRADED = ("none", "rubric")  # verifiers that call no answer right or wrong
REACTIONS = "reactions"  # as a table of scores
SATISFACTION, CORRECTION = "satisfaction", "correction"
KINDS = (SATISFACTION, CORRECTION)  # of reactions


def table_path(model: str, dataset: str, kind: str) -> str:
    """Return the path of a table of candidates, or of the user turns after them."""
    return f"results/candidates/{model}/{dataset}/{kind.replace(' ', '_')}.parquet"


def n_candidates(config: Config) -> int:
    """Return the number of answers per item, which is 1 if candidates are off."""
    return int(config["answer"].get("samples", 1))


def check(config: Config) -> None:
    """Check that several answers of an item can differ.

    Raises:
        ConfigError: several answers are asked for at temperature 0.
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
    """Return the sorted pairs of a model and a graded dataset that have candidates."""
    if n_candidates(grid.config) == 1:
        return []
    graded = [name for name, e in grid.datasets.items() if e["verifier"] not in UNGRADED]
    return [(model, dataset) for model in grid.models for dataset in graded]


def turn_temperature(grid: Grid) -> float:
    """Return the temperature of the turns after candidates: the lowest of the grid."""
    return min(grid.temperatures.values())


def candidates_identity(grid: Grid, model: str, dataset: str, kind: str = ANSWERS) -> str:
    """Return the identity of a table of candidates, or of the user turns after them."""
    answers = grid.answers_identity(model, dataset)
    shaping: list[Any] = [CANDIDATES_VERSION, answers, n_candidates(grid.config)]
    if kind == USER_TURNS:
        shaping.append(grid.user_turn_settings(turn_temperature(grid)))
    return fingerprint(shaping)


def asked(grid: Grid) -> Iterator[Asked]:
    """Yield the candidates of each model and graded dataset, the turns after them, and scores."""
    temperature = turn_temperature(grid)
    cell: dict[str, str | float] = {"temperature": temperature, "perturbation": PLAIN}
    for pair in candidate_sources(grid):
        answers, turns = table_path(*pair, ANSWERS), table_path(*pair, USER_TURNS)
        settings = grid.answer_settings(pair[0])
        grades = answers.replace("answers.parquet", "grades.parquet")
        yield _written(grid, pair, ANSWERS, sampling=settings, grades=grades)
        after, settings = (answers_path(*pair), answers), grid.user_turn_settings(temperature)
        yield _written(grid, pair, USER_TURNS, after=after, sampling=settings, cell=cell)
        if pair[0] not in scored_models(grid):
            continue
        path, count = scores_path(*pair, REACTIONS), partial(_scores, grid, *pair)
        identity = reactions_identity(grid, *pair)
        yield Asked(path, *pair, identity, SCORES, count, (*after, turns))


def _written(grid: Grid, pair: tuple[str, str], kind: str, **more: Any) -> Asked:
    identity, n = candidates_identity(grid, *pair, kind), n_candidates(grid.config)
    count = partial(_requests, grid, *pair, kind)
    return Asked(table_path(*pair, kind), *pair, identity, kind, count, n_samples=n, **more)


def reactions_identity(grid: Grid, model: str, dataset: str) -> str:
    """Return the identity of the scores of reactions, of candidates, and of turns after them."""
    candidates = candidates_identity(grid, model, dataset)
    shaping: list[Any] = [SCORES_VERSION, REACTIONS, candidates, grid.contents.reactions]
    if n_distractors := n_own_distractors(grid.config):
        after = candidates_identity(grid, model, dataset, USER_TURNS)
        shaping += [n_distractors, grid.config["seed"], after, len(grid.shards(model))]
    return fingerprint(shaping)


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the user turns after the candidates of each model and graded dataset."""
    for of in asked(grid):
        if of.kind == USER_TURNS:
            yield turns_of(of, count=partial(_questions, grid, of.model, of.dataset))


def read_reactions(path: str) -> dict[str, str]:
    """Return the texts of a file of reactions by name, such as `satisfaction 1`.

    Raises:
        UserError: the file lacks the list of texts of a kind.
    """
    reactions = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(reactions, Mapping) or set(reactions) != set(KINDS):
        raise UserError(
            f"'{path}': found {reactions!r:.60}, expected the lists {' and '.join(KINDS)} "
            "of user turns"
        )
    for kind, texts in reactions.items():
        if not (isinstance(texts, list) and texts and all(isinstance(t, str) for t in texts)):
            raise UserError(f"'{path}': {kind}: found {texts!r:.60}, expected a list of user turns")
    return {
        f"{kind} {number}": text
        for kind in KINDS
        for number, text in enumerate(reactions[kind], start=1)
    }


def _requests(grid: Grid, model: str, dataset: str, kind: str, sizes: Sizes) -> Load:
    """Return the load of all candidates but the first, which answers and cells ask for."""
    size, answer = sizes[dataset], grid.answer_settings(model)["max_tokens"]
    n = size.n_items * (n_candidates(grid.config) - 1)
    if kind == ANSWERS:
        return requests(n, size.n_tokens, answer)
    if PLAIN not in grid.perturbations:
        n += size.n_items
    return requests(n, size.n_tokens + answer, grid.config["user_turn"]["max_tokens"])


def _questions(grid: Grid, model: str, dataset: str, sizes: Sizes) -> Load:
    read = sizes[dataset].n_tokens + longest_exchange(grid, model)
    return requests(sizes[dataset].n_items * n_candidates(grid.config), read)


def _scores(grid: Grid, model: str, dataset: str, sizes: Sizes) -> Load:
    size, answer = sizes[dataset], grid.answer_settings(model)["max_tokens"]
    n = size.n_items * n_candidates(grid.config)
    n_fixed = n * (1 + len(read_reactions(REACTIONS_FILE)))
    others = min(n_own_distractors(grid.config), max(0, size.n_items - 1))
    n_own = n * (1 + others) if others else 0
    read = (n_fixed + n_own) * (size.n_tokens + answer)
    return Load(n_fixed + n_own, read + n_own * grid.config["user_turn"]["max_tokens"])


RULE = JudgeRule("judge_candidates", "candidates/{model}/{dataset}")
ANSWERS_PATH, TURNS_PATH = (
    table_path("{model}", "{dataset}", kind) for kind in (ANSWERS, USER_TURNS)
)
JOBS = {
    "collect_candidates": collecting(
        "Collect the candidates of a model and dataset from the journal.",
        ANSWERS_PATH,
        table="answers",
    ),
    "collect_candidate_turns": collecting(
        "Collect the user turns after the candidates of a model and dataset from the journal.",
        TURNS_PATH,
        table="user_turns",
    ),
    "grade_candidates": grading(
        "candidates", ANSWERS_PATH, f"results/{RULE.folder}/grades.parquet"
    ),
}
INPUTS = {
    "candidates": lambda grid: [of.path for of in asked(grid) if of.kind == ANSWERS],
    "candidate_grades": lambda grid: [of.grades for of in asked(grid) if of.grades],
    "candidate_verdicts": lambda grid: [
        turns.verdicts(judge) for judge in grid.judges for turns in judged(grid)
    ],
    "candidate_items": lambda grid: items_of(judged(grid)),
    "reactions": lambda grid: [of.path for of in asked(grid) if of.kind == SCORES],
}
SOURCE = Source(
    asked,
    judged,
    (RULE,),
    jobs=JOBS,
    inputs=INPUTS,
    turns_to_score={REACTIONS: "generation.scored_turns.reactions"},
    check=check,
)
