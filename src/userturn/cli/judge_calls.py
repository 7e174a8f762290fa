"""How often each judge of a planned study is asked, and about how many tokens."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from userturn.cli.study_size import (
    CHARACTERS_PER_TOKEN,
    Size,
    candidates_of,
    dataset_size,
    self_play_of,
    turns_of,
)
from userturn.controls.control_turn import LABELS
from userturn.controls.injections import INJECTIONS
from userturn.judges.kinds import kind_of
from userturn.study.grid import Grid
from userturn.study.inputs import LABELLED_TURNS
from userturn.workflow.chance_floor import ChanceFloorGrid
from userturn.workflow.controls import HUMAN, ControlGrid
from userturn.workflow.labelled import LabelledGrid

# Assumed for a dataset with rubrics until its rows are here and can be counted.
CRITERIA_OF_AN_UNSEEN_ITEM = 12


class Calls(NamedTuple):
    """Questions to a judge.

    Attributes:
        n: number of questions.
        n_tokens: tokens of all conversations and turns together, without rubric or prompt.
    """

    n: float = 0
    n_tokens: float = 0

    def plus(self, n: float, n_tokens_each: float) -> "Calls":
        """Return these calls and `n` more."""
        return Calls(self.n + n, self.n_tokens + n * n_tokens_each)


def calls_of(grid: Grid, judge: str, sizes: Mapping[str, Size]) -> Calls:
    """Return the questions to one judge: turns, floors, controls, labelled turns, rubrics."""
    found = [*_of_rubrics(grid, judge, sizes)]
    if judge in grid.judges:
        found += [*_of_turns(grid, sizes), *_of_controls(grid, sizes), *_of_labelled(grid)]
    calls = Calls()
    for n, n_tokens_each in found:
        calls = calls.plus(n, n_tokens_each)
    return calls


def price_of(entry: Mapping[str, Any], calls: Calls) -> tuple[float, float] | None:
    """Return the expected and the largest cost of calls; None if no price is known."""
    return kind_of(entry).price(entry, calls.n, calls.n_tokens)


def _of_turns(grid: Grid, sizes: Mapping[str, Size]) -> Iterator[tuple[float, float]]:
    """Yield numbers of turns and their tokens: every turn once, some again for the chance floor."""
    floor = ChanceFloorGrid(grid)
    for model in grid.models:
        again = dict.fromkeys(sizes, 0)
        for cell in (cell for cell in floor.cells if cell.model == model):
            n_turns = sizes[cell.dataset].n_items * grid.n_samples(cell.temperature)
            again[cell.dataset] += min(n_turns, floor.n_turns)
        candidates = candidates_of(grid, sizes, model)
        longest = grid.answer_settings(model)["max_tokens"] + grid.config["user_turn"]["max_tokens"]
        for dataset, n_turns in turns_of(grid, sizes, model).items():
            yield n_turns + again[dataset] + candidates[dataset], sizes[dataset].n_tokens + longest
        for n_turns, before in self_play_of(grid, sizes, model):
            yield n_turns, before + longest


def _of_controls(grid: Grid, sizes: Mapping[str, Size]) -> Iterator[tuple[float, float]]:
    """Yield numbers of control turns and their tokens; no planted turn is longer than its texts."""
    controls, planted = ControlGrid(grid), len(LABELS) - 1  # the kinds but the human turns
    injected = max(map(len, INJECTIONS.values())) / CHARACTERS_PER_TOKEN
    for model, dataset in controls.sources:
        size = dataset_size(grid, dataset) if model == HUMAN else sizes[dataset]
        n_items, n_tokens = size.n_items, size.n_tokens
        answer = max(grid.answer_settings(name)["max_tokens"] for name in grid.models)
        if model == HUMAN:
            yield n_items, n_tokens + answer + grid.config["user_turn"]["max_tokens"]
        else:
            n_turns = min(n_items, controls.n_planted) * planted
            yield n_turns, n_tokens + answer + max(n_tokens, answer, injected)


def _of_labelled(grid: Grid) -> Iterator[tuple[float, float]]:
    """Yield the number of labelled turns and the tokens of each."""
    if LabelledGrid(grid).is_on:
        text = Path(LABELLED_TURNS).read_text(encoding="utf-8")
        n_turns = len(text.splitlines())
        yield n_turns, len(text) / CHARACTERS_PER_TOKEN / n_turns


def _of_rubrics(grid: Grid, judge: str, sizes: Mapping[str, Size]) -> Iterator[tuple[float, float]]:
    """Yield numbers of criteria and their tokens, for each dataset that the judge grades."""
    for dataset, size in sizes.items():
        if grid.grader(dataset) == judge:
            for model in grid.models:
                answer = grid.answer_settings(model)["max_tokens"]
                yield n_criteria(grid, dataset, size), size.n_tokens + answer


def n_criteria(grid: Grid, dataset: str, size: Size) -> int:
    """Return the number of criteria of all items of a dataset, counted if it is here."""
    path = grid.dataset_path(dataset)
    if not path.is_file():
        return size.n_items * CRITERIA_OF_AN_UNSEEN_ITEM
    arguments = pl.read_parquet(path, columns=["verifier_arguments"])["verifier_arguments"]
    return sum(len(json.loads(text)["rubrics"]) for text in arguments.drop_nulls())
