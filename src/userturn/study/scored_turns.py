"""The turns whose likelihood a study scores, and the identity of each table of scores."""

from typing import Any, NamedTuple

from userturn.config.entries import Config, likelihood_datasets, likelihood_settings
from userturn.storage.hashing import fingerprint
from userturn.study.candidates import (
    ANSWERS,
    USER_TURNS,
    CandidateTable,
    candidate_sources,
    candidates_identity,
)
from userturn.study.grid import Grid
from userturn.study.self_play import depth_identity, depths

HUMAN_TURNS, OWN_TURNS, REACTIONS = "human_turns", "own_turns", "reactions"
SELF_PLAY_TURNS = "self_play_turns"
SCORES_VERSION = 2


class ScoredTurns(NamedTuple):
    """One table of scores: a model's, of reference follow-ups, of its own turns, or of self-play.

    `reactions` are fixed user turns after the model's candidates, these candidates themselves, and
    the turns that the model wrote after them.
    """

    model: str
    dataset: str
    turns: str

    @property
    def file(self) -> str:
        """The table's file, below results/likelihood."""
        return f"{self.model}/{self.dataset}/{self.turns}.parquet"


def scored_turns(grid: Grid) -> list[ScoredTurns]:
    """Return all tables of scores of a study, sorted."""
    settings = likelihood_settings(grid.config)
    own = list(grid.datasets) if settings and settings["turns"] else []
    human = likelihood_datasets(grid.config)
    played = dict.fromkeys(at.dataset for at in depths(grid)) if own else []
    pairs = [
        *((name, HUMAN_TURNS) for name in human),
        *((name, OWN_TURNS) for name in own),
        *((name, SELF_PLAY_TURNS) for name in played),
    ]
    reactions = [ScoredTurns(*source, REACTIONS) for source in candidate_sources(grid)]
    likelihood = [ScoredTurns(model, *pair) for model in grid.models for pair in pairs]
    return sorted([*likelihood, *reactions])


def n_own_distractors(config: Config) -> int:
    """Return the number of distractors of the model's own turns; 0 where these are not scored."""
    settings = likelihood_settings(config)
    return int(settings["distractors"]) if settings and settings["turns"] else 0


def scores_identity(grid: Grid, scored: ScoredTurns) -> str:
    """Return the identity of a table of scores: everything that shapes it."""
    model, dataset, turns = scored
    if turns == REACTIONS:
        candidates = candidates_identity(grid, CandidateTable(model, dataset, ANSWERS))
        shaping: list[Any] = [SCORES_VERSION, turns, candidates, grid.contents.reactions]
        if n_distractors := n_own_distractors(grid.config):
            after = candidates_identity(grid, CandidateTable(model, dataset, USER_TURNS))
            shaping += [n_distractors, grid.config["seed"], after, len(grid.shards(model))]
        return fingerprint(shaping)
    settings = likelihood_settings(grid.config) or {}
    shared: dict[str, Any] = {
        "version": SCORES_VERSION,
        "turns": turns,
        "distractors": settings["distractors"],
        "seed": grid.config["seed"],
    }
    if turns == HUMAN_TURNS:
        kind: list[Any] = [grid.contents.models[model], grid.dataset_identity(dataset)]
    else:
        written = [grid.cell_identity(cell) for cell in grid.cells_of[model, dataset]]
        if turns == SELF_PLAY_TURNS:
            mine = [at for at in depths(grid) if (at.model, at.dataset) == (model, dataset)]
            written = [depth_identity(grid, at) for at in mine]
        kind = [settings["turns"], written]
        n_shards = len(grid.shards(model))
        kind += [n_shards] if n_shards > 1 else []  # distractors are answers to a shard's own items
    return fingerprint({**shared, "of": kind})
