"""Self-play: conversations that a model continues with its own turns, collected and scored."""

from collections.abc import Iterator, Sequence

import polars as pl

from userturn.datasets.messages import ShownAnswer
from userturn.generation.collect import collect_table
from userturn.generation.scored_turns import (
    READ,
    Conversations,
    continued,
    going_on,
    own_distractors,
    sampled_items,
)
from userturn.generation.scorer import Exchange, TurnToScore, own_contexts
from userturn.sources.registry import asked
from userturn.sources.self_play import depths_from_the_first
from userturn.sources.source import Asked
from userturn.storage.table_files import write_table
from userturn.study.grid import Grid


def collect_self_play(
    grid: Grid,
    tables: Sequence[Asked],
    paths_before: Sequence[str],
    path_to_conversations: str,
    path_to_answers: str,
    path_to_user_turns: str,
) -> None:
    """Write one depth of self-play from the journal and the depth before it.

    Args:
        grid: the study's grid.
        tables: the tables of answers and of user turns of the depth.
        paths_before: paths of the conversations and the user turns of the depth before.
        path_to_conversations: output file of the conversations before the depth's answers.
        path_to_answers: output file of the depth's answers.
        path_to_user_turns: output file of the depth's user turns.
    """
    (answers, turns), (conversations_before, turns_before) = tables, paths_before
    before = pl.read_parquet(conversations_before)
    turns_read = pl.read_parquet(turns_before, columns=["sample", *READ])
    conversations = continued(before, turns_read, turns.depth - 1)
    write_table(conversations, path_to_conversations, turns.identity)
    collect_table(grid, answers, path_to_answers)
    collect_table(grid, turns, path_to_user_turns)


def self_play_turns(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield a sample of the turns of every depth, of the same items at each depth.

    A turn's own context is its conversation. The distractors are the model's answers at the same
    depth in other conversations of the shard. In `perturbation` stands the depth: `depth-2`.
    """
    sample, conversations = set(sampled_items(grid, scored.dataset)), Conversations(grid, shard)
    for at in depths_from_the_first(grid):
        if (at.model, at.dataset) != (scored.model, scored.dataset):
            continue
        exchanges = exchanges_at(conversations, asked(grid)[at.path_to_user_turns])
        distractors = own_distractors(grid, exchanges)
        cell_columns = {"temperature": grid.temperatures[at.temperature], "sample": 0}
        for exchange in exchanges:
            if exchange.item in sample and exchange.turn.strip():
                contexts = own_contexts(exchange, distractors[exchange.item])
                yield TurnToScore(exchange, contexts, {**cell_columns, "perturbation": at.name})


def exchanges_at(conversations: Conversations, turns: Asked) -> list[Exchange]:
    """Return the exchanges of a table's user turns: conversation, answer, and the turn after it."""
    before = conversations.conversations_before(turns)
    open_ones = going_on(before) if turns.goes_on_from else before
    written = conversations.turns(turns).filter(pl.col("sample") == 0)
    both = open_ones.join(written, on="item", maintain_order="left")
    return [
        Exchange(item, tuple(messages), ShownAnswer(answer), text if outcome == "ok" else "")
        for item, messages, answer, outcome, text in both.select(
            "item", "messages", "answer", "outcome", "text"
        ).iter_rows()
        if answer and answer.strip()
    ]
