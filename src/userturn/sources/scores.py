"""Likelihoods of existing turns: of reference follow-ups, and of the turns that a model wrote.

Self-play and candidates have scores of their own, which their sources declare.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from userturn.config.entries import Config, likelihood_datasets, likelihood_settings
from userturn.config.formats import is_chat
from userturn.sources.answers import answers_path
from userturn.sources.source import (
    SCORES,
    Asked,
    Load,
    Sizes,
    Source,
    collecting,
    longest_exchange,
    requests,
)
from userturn.storage.hashing import fingerprint
from userturn.study.cells import files_of
from userturn.study.grid import Grid

HUMAN_TURNS, OWN_TURNS = "human_turns", "own_turns"
SCORES_VERSION = 2


def scores_path(model: str, dataset: str, turns: str) -> str:
    """Return the path of a table of scores, from `results/` on."""
    return f"results/likelihood/{model}/{dataset}/{turns}.parquet"


def n_own_turns(config: Config) -> int:
    """Return how many items have the model's own turns scored, or 0 if that is off."""
    settings = likelihood_settings(config)
    return int(settings["turns"]) if settings else 0


def n_own_distractors(config: Config) -> int:
    """Return the number of distractors of the model's own turns, or 0 if these are not scored."""
    settings = likelihood_settings(config)
    return int(settings["distractors"]) if settings and settings["turns"] else 0


def has_endings(config: Config) -> bool:
    """Return whether the end of a turn is scored, too, which is off by default."""
    return bool((likelihood_settings(config) or {}).get("endings", False))


def scored_models(grid: Grid) -> list[str]:
    """Return the sorted names of the models that can score a text, which a chat API cannot."""
    return [name for name, entry in grid.models.items() if not is_chat(entry)]


def _shared(grid: Grid, turns: str) -> dict[str, Any]:
    settings = likelihood_settings(grid.config) or {}
    ends = turns in (HUMAN_TURNS, OWN_TURNS) and has_endings(grid.config)
    return {
        "version": SCORES_VERSION,
        "turns": turns,
        "distractors": settings["distractors"],
        "seed": grid.config["seed"],
        **({"endings": True} if ends else {}),
    }


def written_scores_identity(grid: Grid, model: str, turns: str, written: Sequence[str]) -> str:
    """Return the identity of the scores of a model's own turns of the identities `written`."""
    n_shards = len(grid.shards(model))
    kind: list[Any] = [n_own_turns(grid.config), list(written)]
    kind += [n_shards] if n_shards > 1 else []  # distractors are answers to a shard's own items
    return fingerprint({**_shared(grid, turns), "of": kind})


def asked(grid: Grid) -> Iterator[Asked]:
    """Yield the scores of reference follow-ups, and of each model's own turns."""
    for model in scored_models(grid):
        for dataset in likelihood_datasets(grid.config):
            of: list[Any] = [grid.contents.models[model], grid.dataset_identity(dataset)]
            identity = fingerprint({**_shared(grid, HUMAN_TURNS), "of": of})
            path = scores_path(model, dataset, HUMAN_TURNS)
            count = partial(_follow_ups, grid, dataset)
            yield Asked(path, model, dataset, identity, SCORES, count)
        for dataset in grid.datasets if n_own_turns(grid.config) else ():
            cells = grid.cells_of[model, dataset]
            written = [grid.cell_identity(cell) for cell in cells]
            identity = written_scores_identity(grid, model, OWN_TURNS, written)
            path = scores_path(model, dataset, OWN_TURNS)
            count = partial(_own_turns, grid, model, dataset)
            after = answers_path(model, dataset), *files_of(cells, "user_turns.parquet")
            yield Asked(path, model, dataset, identity, SCORES, count, after)


def _follow_ups(grid: Grid, dataset: str, sizes: Sizes) -> Load:
    """Return the load of follow-ups in their own and other contexts, under both headers."""
    size, settings = sizes[dataset], likelihood_settings(grid.config) or {}
    others = min(settings["distractors"], max(0, size.n_follow_ups - 1))
    n_contexts = 2 + 2 * others + has_endings(grid.config)
    return requests(size.n_follow_ups * n_contexts, size.n_follow_up_tokens)


def n_contexts(grid: Grid, n_items: int) -> int:
    """Return the number of contexts in which the drawn turns of one cell are scored."""
    others = min(n_own_distractors(grid.config), max(0, n_items - 1))
    return min(n_own_turns(grid.config), n_items) * (1 + others)


def _own_turns(grid: Grid, model: str, dataset: str, sizes: Sizes) -> Load:
    size = sizes[dataset]
    n = n_contexts(grid, size.n_items) * len(grid.cells_of[model, dataset])
    n += min(n_own_turns(grid.config), size.n_items) * has_endings(grid.config)
    return requests(n, size.n_tokens + longest_exchange(grid, model))


JOBS = {
    "collect_scores": collecting(
        "Collect a model's scores of reference follow-ups, or of its own turns, from the journal.",
        scores_path("{model}", "{dataset}", "{turns}"),
    )
}
TURNS_TO_SCORE = {
    HUMAN_TURNS: "generation.scored_turns.human_turns",
    OWN_TURNS: "generation.scored_turns.own_turns",
}
INPUTS = {
    "scores": lambda grid: [
        of.path for of in sorted(asked(grid), key=lambda of: (of.model, of.dataset, of.name))
    ]
}
SOURCE = Source(asked, jobs=JOBS, inputs=INPUTS, turns_to_score=TURNS_TO_SCORE)
