"""Plan the scores of turns of self-play, after their conversations and after other answers."""

from collections.abc import Iterator

import polars as pl

from userturn.config.entries import likelihood_settings
from userturn.datasets.prepare import rank
from userturn.generation.self_play import Conversations, going_on
from userturn.likelihood.contexts import Exchange, draw_distractors, own_contexts
from userturn.likelihood.scoring_plan import TurnToScore
from userturn.sources.self_play import Depth, depths_from_the_first
from userturn.sources.source import Asked
from userturn.study.grid import Grid


def self_play_turns(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield a sample of the turns of every depth, of the same items; `perturbation` is `depth-2`.

    A turn's own context is its conversation; the distractors are the model's answers at the same
    depth in other conversations of the shard.
    """
    settings = likelihood_settings(grid.config) or {}
    names = pl.read_parquet(grid.dataset_path(scored.dataset), columns=["item"])["item"]
    ranked = sorted(names, key=lambda item: rank(grid.config["seed"], item))
    sample = set(ranked[: settings["turns"]])
    conversations = Conversations(grid, shard)
    for at in depths_from_the_first(grid):
        if (at.model, at.dataset) != (scored.model, scored.dataset):
            continue
        exchanges = exchanges_at(conversations, at)
        drawn = draw_distractors(exchanges, settings["distractors"], grid.config["seed"])
        place = {"temperature": grid.temperatures[at.temperature], "sample": 0}
        for exchange in exchanges:
            if exchange.item in sample and exchange.turn.strip():
                contexts = own_contexts(exchange, drawn[exchange.item])
                yield TurnToScore(exchange, contexts, {**place, "perturbation": at.name})


def exchanges_at(conversations: Conversations, at: Depth) -> list[Exchange]:
    """Return the conversations that have an answer at a depth, with the turn that was written."""
    before = conversations.before(at)
    known = before if at.depth == 1 else going_on(before)
    turns = conversations.turns(at).filter(pl.col("sample") == 0)
    both = known.join(turns, on="item", maintain_order="left")
    return [
        Exchange(item, tuple(messages), answer, text if outcome == "ok" else "")
        for item, messages, answer, outcome, text in both.select(
            "item", "messages", "answer", "outcome", "text"
        ).iter_rows()
        if answer and answer.strip()
    ]
