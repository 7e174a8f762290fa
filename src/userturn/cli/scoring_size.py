"""How many requests and tokens the scores of a planned study need."""

from collections.abc import Sequence
from typing import NamedTuple

from userturn.cli.study_size import CHARACTERS_PER_TOKEN, Size, dataset_size, planned_items
from userturn.config.entries import likelihood_settings
from userturn.likelihood.contexts import human_exchanges
from userturn.likelihood.reactions import read_reactions
from userturn.study.candidates import n_candidates
from userturn.study.grid import Grid
from userturn.study.inputs import REACTIONS as REACTIONS_FILE
from userturn.study.scored_turns import (
    HUMAN_TURNS,
    OWN_TURNS,
    REACTIONS,
    SELF_PLAY_TURNS,
    ScoredTurns,
    n_own_distractors,
)
from userturn.workflow.self_play import SelfPlayGrid


class ScoringSize(NamedTuple):
    """Scoring requests of one model and dataset.

    Attributes:
        scored: whose turns they score.
        n_requests: their number.
        n_tokens: tokens that they read together, before any shared beginning is left out.
    """

    scored: ScoredTurns
    n_requests: int
    n_tokens: float


def scoring_sizes(grid: Grid, wanted: Sequence[ScoredTurns]) -> list[ScoringSize]:
    """Return the scoring requests of these tables."""
    measure = {
        HUMAN_TURNS: follow_ups_size,
        OWN_TURNS: dataset_size,
        SELF_PLAY_TURNS: dataset_size,
        REACTIONS: dataset_size,
    }
    sizes = {(name, turns): measure[turns](grid, name) for name, turns in {s[1:] for s in wanted}}
    return [scoring_size(grid, scored, sizes[scored.dataset, scored.turns]) for scored in wanted]


def scoring_size(grid: Grid, scored: ScoredTurns, size: Size) -> ScoringSize:
    """Return the requests of one table of scores: turns times contexts.

    Answers and user turns of the model are taken at their largest, `max_tokens`.

    Args:
        grid: the study's grid.
        scored: the turns of the table.
        size: size of the dataset, or of its reference follow-ups if these are scored.
    """
    written = grid.answer_settings(scored.model)["max_tokens"]
    if scored.turns == REACTIONS:
        n = size.n_items * n_candidates(grid.config)
        n_fixed = n * (1 + len(read_reactions(REACTIONS_FILE)))
        others = min(n_own_distractors(grid.config), max(0, size.n_items - 1))
        n_own = n * (1 + others) if others else 0
        n_tokens = (n_fixed + n_own) * (size.n_tokens + written)
        n_tokens += n_own * grid.config["user_turn"]["max_tokens"]
        return ScoringSize(scored, n_fixed + n_own, n_tokens)
    settings = likelihood_settings(grid.config) or {}
    others = min(settings["distractors"], max(0, size.n_items - 1))
    if scored.turns == HUMAN_TURNS:
        n = size.n_items * (2 + 2 * others)  # own, assistant's header, answers, conversations
        return ScoringSize(scored, n, n * size.n_tokens)
    written += grid.config["user_turn"]["max_tokens"]
    n = min(settings["turns"], size.n_items) * (1 + others)
    if scored.turns == SELF_PLAY_TURNS:
        played = [at.depth for at in SelfPlayGrid(grid).all_depths if at[:2] == scored[:2]]
        n_tokens = n * sum(size.n_tokens + depth * written for depth in played)
        return ScoringSize(scored, n * len(played), n_tokens)
    n *= sum((c.model, c.dataset) == (scored.model, scored.dataset) for c in grid.cells)
    return ScoringSize(scored, n, n * (size.n_tokens + written))


def follow_ups_size(grid: Grid, dataset: str) -> Size:
    """Return number and length of a dataset's reference follow-ups, each with its conversation.

    Where only the hub has the dataset, every item is taken to have one.
    """
    items = planned_items(grid, dataset)
    if items is None:
        return dataset_size(grid, dataset)
    found = human_exchanges(items)
    n_characters = sum(
        len(e.answer) + len(e.turn) + sum(len(m["content"]) for m in e.prompt) for e in found
    )
    return Size(len(found), n_characters / CHARACTERS_PER_TOKEN / max(1, len(found)), True)
