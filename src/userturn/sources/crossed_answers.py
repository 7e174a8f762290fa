"""Crossed answers: user turns of each model after the answers of other models, or the dataset's.

An unperturbed cell has a model's user turns after its own answers. Here the answers to the same
items are another's, so that the effect of the speaker can be told from that of the answerer. Of
another model's answer only the text is shown, as a user sees it.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from userturn.config.entries import Config, selected
from userturn.config.formats import models_in_formats
from userturn.errors import ConfigError, near_miss
from userturn.sources.answers import answers_path
from userturn.sources.source import (
    USER_TURNS,
    Asked,
    JudgeRule,
    Load,
    Sizes,
    Source,
    Turns,
    collecting,
    every_verdict,
    requests,
    turns_of,
)
from userturn.storage.hashing import fingerprint
from userturn.study.cells import PLAIN, Cell, verdicts_of
from userturn.study.grid import Grid

CROSSED_VERSION = 1
REFERENCE = "reference"  # the dataset, as an answerer
REFERENCE_ANSWER = "reference_answer"  # the operator that shows its answers
FOLDER = "crossed/{model}/{dataset}/t{temperature}/{answerer}"


class Crossing(NamedTuple):
    """User turns of a model after the answers of another, with the temperature as in paths."""

    model: str
    dataset: str
    temperature: str
    answerer: str

    @property
    def folder(self) -> str:
        """The folder of its files, below the results."""
        return FOLDER.format(**self._asdict())

    @property
    def path_to_answers(self) -> str:
        """The path of the answers before its turns, the model's own if the dataset's are shown."""
        is_reference = self.answerer == REFERENCE
        return answers_path(self.model if is_reference else self.answerer, self.dataset)


def answerers(config: Config) -> list[str]:
    """Return the names of those whose answers every model is probed after, besides its own."""
    return list(config.get("answers_from", []))


def check(config: Config) -> None:
    """Check that every answerer is a model of the run, and that the run has unperturbed cells.

    Raises:
        ConfigError: an answerer or the perturbation `none` is missing.
    """
    allowed = [*models_in_formats(config), REFERENCE]
    for name in answerers(config):
        if name not in allowed:
            raise ConfigError(
                f"answers_from: '{name}' is not a model of the run; correct the name, or add it to "
                f"run.models{near_miss(name, allowed)}"
            )
    if answerers(config) and PLAIN not in selected(config, "perturbations"):
        raise ConfigError(
            "answers_from: the run has no perturbation 'none', whose turns after a model's own "
            "answers the others are compared with; add it to run.perturbations, or leave "
            "answers_from out"
        )


def crossings(grid: Grid) -> list[Crossing]:
    """Return the crossings of each model with every other answerer, sorted."""
    return [
        Crossing(model, dataset, temperature, answerer)
        for model in grid.models
        for dataset in grid.datasets
        for temperature in grid.temperatures
        for answerer in sorted(answerers(grid.config))
        if answerer != model
    ]


def own_cells(grid: Grid) -> list[Cell]:
    """Return the cells after a model's own answers that crossings are compared with, sorted."""
    return list(dict.fromkeys(Cell(*at[:3], PLAIN) for at in crossings(grid)))


def crossing_identity(grid: Grid, at: Crossing) -> str:
    """Return the identity of the user turns of a crossing."""
    if at.answerer == REFERENCE:
        answers = grid.contents.datasets[at.dataset]
    else:
        answers = grid.answers_identity(at.answerer, at.dataset)
    return fingerprint(
        {
            "version": CROSSED_VERSION,
            "model": grid.contents.models[at.model],
            "answers": [at.answerer == REFERENCE, answers],
            "user_turn": grid.user_turn_settings(grid.temperatures[at.temperature]),
            "samples": grid.n_samples(at.temperature),
            "seed": grid.config["seed"],
        }
    )


def asked(grid: Grid) -> Iterator[Asked]:
    """Yield the user turns of each crossing."""
    for at in crossings(grid):
        temperature = grid.temperatures[at.temperature]
        shows_reference = at.answerer == REFERENCE
        yield Asked(
            f"results/{at.folder}/user_turns.parquet",
            at.model,
            at.dataset,
            crossing_identity(grid, at),
            USER_TURNS,
            partial(_requests, grid, at),
            (at.path_to_answers,),
            grid.user_turn_settings(temperature),
            grid.n_samples(at.temperature),
            {
                "temperature": temperature,
                "perturbation": REFERENCE_ANSWER if shows_reference else PLAIN,
            },
        )


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the user turns of each crossing."""
    return map(turns_of, asked(grid))


def _requests(grid: Grid, at: Crossing, sizes: Sizes) -> Load:
    size, is_reference = sizes[at.dataset], at.answerer == REFERENCE
    n_items = size.n_references if is_reference else size.n_items
    answer = grid.answer_settings(at.model if is_reference else at.answerer)["max_tokens"]
    n, written = n_items * grid.n_samples(at.temperature), grid.config["user_turn"]["max_tokens"]
    return requests(n, size.n_tokens + answer, written)


RULE = JudgeRule("judge_crossed", FOLDER)
JOBS = {
    "collect_crossed": collecting(
        "Collect a model's user turns after another's answers from the journal.", RULE.user_turns
    )
}
INPUTS = {
    "crossed_verdicts": lambda grid: every_verdict(grid, judged(grid)),
    "uncrossed_verdicts": lambda grid: verdicts_of(own_cells(grid), grid.judges),
}
SOURCE = Source(
    asked,
    judged,
    (RULE,),
    jobs=JOBS,
    wildcards={"answerer": r"[a-z0-9][a-z0-9._+-]*"},
    inputs=INPUTS,
    check=check,
)
