"""Controls: real user turns of some datasets, and failures planted after models' answers."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from userturn.config.formats import in_default
from userturn.controls.control_turn import HUMAN, LABELS
from userturn.controls.failures import INJECTIONS
from userturn.sources.answers import answers_path
from userturn.sources.job import Job, identity
from userturn.sources.source import (
    CHARACTERS_PER_TOKEN,
    ITEMS,
    JudgeRule,
    Load,
    Sizes,
    Source,
    Turns,
    every_verdict,
    requests,
)
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

CONTROLS_VERSION = 2


def n_planted(grid: Grid) -> int:
    """Return how many items of each dataset get planted failures."""
    return int(grid.config["controls"]["planted"])


def _other_models(grid: Grid, model: str) -> list[str]:
    """Return the next model, the first after the last; nothing for people, or if there is only one.

    In another format than the default a model is no other model.
    """
    models = list(in_default(grid.models))
    if model not in models:
        return []
    place = models.index(model) + 1
    return (models[place:] + models[: place - 1])[:1]


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the real user turns of datasets, then the failures planted after each model's answers.

    Other formats of a model would not test a judge.
    """
    models = in_default(grid.models) if n_planted(grid) else ()
    pairs = [
        *((HUMAN, dataset) for dataset in grid.human_datasets),
        *((model, dataset) for model in models for dataset in grid.datasets),
    ]
    for model, dataset in pairs:
        yield Turns(
            f"controls/{model}/{dataset}",
            model,
            dataset,
            _identity(grid, model, dataset),
            f"results/datasets/{dataset}.parquet",
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
    """Return the load of a dataset's controls; no planted turn is longer than its texts."""
    size = sizes[dataset]
    answer = max(grid.answer_settings(name)["max_tokens"] for name in grid.models)
    if model == HUMAN:
        read = size.n_tokens + answer + grid.config["user_turn"]["max_tokens"]
        return requests(size.n_items, read)
    injected = max(map(len, INJECTIONS.values())) / CHARACTERS_PER_TOKEN
    n_kinds = len(LABELS) - 1  # the human turns are no failure
    read = size.n_tokens + answer + max(size.n_tokens, answer, injected)
    return requests(min(size.n_items, n_planted(grid)) * n_kinds, read)


FOLDER = "controls/{model}/{dataset}"
RULE = JudgeRule("judge_controls", FOLDER)
PATH_OF_HUMANS = f"results/controls/{HUMAN}/{{dataset}}/user_turns.parquet"
JOBS = {
    "take_human_turns": Job(
        "Take the real user turns of a dataset, each after the answer that it reacts to.",
        "controls.labelled_turns.take_human_turns",
        {"path_to_items": ITEMS},
        {"path_to_user_turns": PATH_OF_HUMANS},
        identity(f"identity({PATH_OF_HUMANS})"),
    ),
    "plant_failures": Job(
        "Plant every known failure after a model's answers to some items of a dataset.",
        "controls.planted.plant_failures",
        {
            "path_to_answers": answers_path("{model}", "{dataset}"),
            "paths_to_other_answers": f"study.made_of({FOLDER})",
            "path_to_items": ITEMS,
            "path_to_texts": "data/controls/hard_failures.yaml",
            "paths_to_frames": "study.harder_frames",
        },
        {"path_to_user_turns": RULE.user_turns},
        identity(f"identity({RULE.user_turns})"),
        {"n_items": "controls.planted", "seed": "seed"},
        wildcards={"model": rf"(?!{HUMAN}/)[a-z0-9][a-z0-9._+-]*"},
    ),
}
INPUTS = {
    "control_verdicts": lambda grid: every_verdict(grid, judged(grid)),
    "human_items": lambda grid: [
        f"results/datasets/{name}.parquet" for name in sorted(grid.human_datasets)
    ],
}
SOURCE = Source(judged=judged, judge_rule=RULE, jobs=JOBS, inputs=INPUTS)
