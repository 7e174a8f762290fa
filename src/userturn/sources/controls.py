"""Turns of a known kind, which every judge reads.

They are real user turns of some datasets, failures planted after models' answers, and the project's
own conversations: with labelled turns, and with a prompt injection before the answer.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from userturn.config.formats import default_format_models
from userturn.controls.control_turn import HUMAN, INJECTIONS, LABELS
from userturn.sources.answers import answers_path
from userturn.sources.source import (
    CHARACTERS_PER_TOKEN,
    ITEMS,
    Job,
    JudgeRule,
    Load,
    Sizes,
    Source,
    Turns,
    every_verdict,
    identity,
    items_of,
    requests,
)
from userturn.storage.hashing import fingerprint
from userturn.study.contents import INJECTED, LABELLED, LABELLED_TURNS
from userturn.study.grid import Grid

CONTROLS_VERSION, LABELLED_VERSION, INJECTED_VERSION = 2, 1, 1


def n_planted(grid: Grid) -> int:
    """Return how many items of each dataset get planted failures."""
    return int(grid.config["controls"]["planted"])


def _other_models(grid: Grid, model: str) -> list[str]:
    """Return the next model as a list of at most one, where the first follows the last.

    The list is empty for people and in a study of one model. Only default formats count.
    """
    models = list(default_format_models(grid.models))
    if model not in models:
        return []
    position = models.index(model) + 1
    return (models[position:] + models[: position - 1])[:1]


def controls(grid: Grid) -> Iterator[Turns]:
    """Yield the real user turns of datasets, then the failures planted after each model's answers.

    Other formats of a model are left out, because they would not test a judge.
    """
    models = default_format_models(grid.models) if n_planted(grid) else ()
    pairs = [
        *((HUMAN, dataset) for dataset in grid.human_datasets),
        *((model, dataset) for model in models for dataset in grid.datasets),
    ]
    for model, dataset in pairs:
        yield Turns(
            RULE.folder.format(model=model, dataset=dataset),
            model,
            dataset,
            _identity(grid, model, dataset),
            ITEMS.format(dataset=dataset),
            partial(_questions, grid, model, dataset),
            tuple(answers_path(name, dataset) for name in _other_models(grid, model)),
        )


def _identity(grid: Grid, model: str, dataset: str) -> str:
    if model == HUMAN:
        kind: list[Any] = [HUMAN, grid.dataset_identity(dataset)]
    else:
        names = (model, *_other_models(grid, model))
        answers = [grid.answers_identity(name, dataset) for name in names]
        kind = [answers, n_planted(grid), grid.config["seed"], grid.contents.hard_failures]
        kind += filter(None, [grid.contents.harder_failures])
    return fingerprint([CONTROLS_VERSION, *kind])


def _questions(grid: Grid, model: str, dataset: str, sizes: Sizes) -> Load:
    """Return the load of a dataset's controls, where no planted turn is longer than its texts."""
    size = sizes[dataset]
    answer = max(grid.answer_settings(name)["max_tokens"] for name in grid.models)
    if model == HUMAN:
        read = size.n_tokens + answer + grid.config["user_turn"]["max_tokens"]
        return requests(size.n_items, read)
    injected = max(map(len, INJECTIONS.values())) / CHARACTERS_PER_TOKEN
    n_kinds = len(LABELS) - 1  # the human turns are no failure
    read = size.n_tokens + answer + max(size.n_tokens, answer, injected)
    return requests(min(size.n_items, n_planted(grid)) * n_kinds, read)


def labelled(grid: Grid) -> Iterator[Turns]:
    """Yield the labelled turns, unless the study is older or turns them off."""
    if grid.config["controls"].get("labelled", False):
        identity = fingerprint([LABELLED_VERSION, grid.contents.labelled])
        items = LABELLED_RULE.items
        yield Turns(LABELLED, LABELLED, LABELLED, identity, items, _labelled_questions)


def _labelled_questions(sizes: Sizes) -> Load:
    text = Path(LABELLED_TURNS).read_text(encoding="utf-8")
    n = len(text.splitlines())
    return requests(n, len(text) / CHARACTERS_PER_TOKEN / n)


def injected(grid: Grid) -> Iterator[Turns]:
    """Yield the turns after an injection, unless the study is older or turns them off."""
    if grid.config["controls"].get("injected", False):
        identity = fingerprint([INJECTED_VERSION, grid.contents.labelled])
        items = INJECTED_RULE.items
        yield Turns(INJECTED, INJECTED, INJECTED, identity, items, _injected_questions)


def _injected_questions(sizes: Sizes) -> Load:
    lines = Path(LABELLED_TURNS).read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["language"] == "en"]
    n = len({row["conversation"] for row in rows})
    return requests(n, sum(map(len, lines)) / CHARACTERS_PER_TOKEN / len(lines))


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield all turns of a known kind."""
    for kind in (controls, labelled, injected):
        yield from kind(grid)


def own_conversations(grid: Grid) -> dict[str, str]:
    """Return the identity of the project's own conversations before the turns, by path."""
    return {turns.items: turns.identity for kind in (labelled, injected) for turns in kind(grid)}


RULE = JudgeRule("judge_controls", "controls/{model}/{dataset}")
LABELLED_RULE = JudgeRule("judge_labelled", LABELLED, ITEMS.format(dataset=LABELLED))
INJECTED_RULE = JudgeRule("judge_injected", INJECTED, f"results/{INJECTED}/items.parquet")
PATH_OF_HUMANS = f"results/controls/{HUMAN}/{{dataset}}/user_turns.parquet"
JOBS = {
    "take_human_turns": Job(
        "Take the real user turns of a dataset, each after the answer that it reacts to.",
        "controls.known_turns.take_human_turns",
        {"path_to_items": ITEMS},
        {"path_to_user_turns": PATH_OF_HUMANS},
        identity(f"identity({PATH_OF_HUMANS})"),
    ),
    "plant_failures": Job(
        "Plant every known failure after a model's answers to some items of a dataset.",
        "controls.known_turns.plant_failures",
        {
            "path_to_answers": answers_path("{model}", "{dataset}"),
            "paths_to_other_answers": f"study.paths_behind_turns({RULE.folder})",
            "path_to_items": ITEMS,
            "path_to_texts": "data/controls/hard_failures.yaml",
            "paths_to_frames": "study.harder_frames",
        },
        {"path_to_user_turns": RULE.user_turns},
        identity(f"identity({RULE.user_turns})"),
        {"n_items": "controls.planted", "seed": "seed"},
        wildcards={"model": rf"(?!{HUMAN}/)[a-z0-9][a-z0-9._+-]*"},
    ),
    "take_labelled_turns": Job(
        "Take the project's own labelled user turns, for every judge to read.",
        "controls.known_turns.take_labelled_turns",
        {"path_to_labelled": LABELLED_TURNS},
        {"path_to_items": LABELLED_RULE.items, "path_to_user_turns": LABELLED_RULE.user_turns},
        identity(f"identity({LABELLED_RULE.items})"),
    ),
    "inject_conversations": Job(
        "Write a prompt injection into the project's own conversations, for every judge to read.",
        "controls.known_turns.inject_conversations",
        {"path_to_labelled": LABELLED_TURNS},
        {"path_to_items": INJECTED_RULE.items, "path_to_user_turns": INJECTED_RULE.user_turns},
        identity(f"identity({INJECTED_RULE.items})"),
    ),
}
INPUTS = {
    "control_verdicts": lambda grid: every_verdict(grid, controls(grid)),
    "human_items": lambda grid: [
        ITEMS.format(dataset=name) for name in sorted(grid.human_datasets)
    ],
    "labelled_verdicts": lambda grid: every_verdict(grid, labelled(grid)),
    "labelled_items": lambda grid: items_of(labelled(grid)),
    "labelled_turns": lambda grid: [turns.path for turns in labelled(grid)],
    "injected_verdicts": lambda grid: every_verdict(grid, injected(grid)),
}
RULES = (RULE, LABELLED_RULE, INJECTED_RULE)
SOURCE = Source(
    judged=judged, judge_rules=RULES, beside=own_conversations, jobs=JOBS, inputs=INPUTS
)
