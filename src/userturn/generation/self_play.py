"""Self-play: conversations that a model continues with its own turns, collected and scored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from userturn.config.entries import likelihood_settings
from userturn.datasets.messages import ShownAnswer
from userturn.datasets.prepare import MESSAGE, rank
from userturn.generation.collect import ANSWERED, collect, collect_table
from userturn.generation.likelihood_contexts import Exchange, draw_distractors, own_contexts
from userturn.generation.plan_files import read_whole_plan
from userturn.generation.scoring_plan import TurnToScore
from userturn.generation.shards import is_in_shard
from userturn.sources.registry import asked
from userturn.sources.self_play import depths_from_the_first
from userturn.sources.source import Asked
from userturn.storage.journal_table import read_outcomes
from userturn.storage.table_files import Schema, write_table
from userturn.study.asks import journal_of
from userturn.study.grid import Grid

CONVERSATIONS: Schema = {
    "item": pl.String,
    "messages": pl.List(MESSAGE),
    "ended": pl.String,
}
READ = ["item", "answer", "outcome", "text", "error"]
EMPTY = "the user turn of depth {} was empty"
FAILED = "the user turn of depth {} failed: {}"


def continued(conversations: pl.DataFrame, turns: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return conversations with the answer and the user turn of one depth, or why they ended.

    Args:
        conversations: up to the answer of this depth: `item`, `messages` and perhaps `ended`.
        turns: the user turns of this depth: `sample` and the columns of `READ`.
        depth: its number.
    """
    said = {row["item"]: row for row in turns.filter(pl.col("sample") == 0).iter_rows(named=True)}
    rows = []
    for row in conversations.iter_rows(named=True):
        messages, ended = row["messages"], row.get("ended")
        if ended is None:
            messages, ended = _extended(messages, said[row["item"]], depth)
        rows.append({"item": row["item"], "messages": messages, "ended": ended})
    return pl.DataFrame(rows, schema=CONVERSATIONS)


def _extended(
    messages: list[dict[str, str]], turn: Mapping[str, Any], depth: int
) -> tuple[list[dict[str, str]] | None, str | None]:
    if turn["outcome"] not in ANSWERED:
        return None, FAILED.format(depth, turn["error"])
    if turn["outcome"] == "empty":
        return None, EMPTY.format(depth)
    answer = {"role": "assistant", "content": turn["answer"]}
    return [*messages, answer, {"role": "user", "content": turn["text"]}], None


def going_on(conversations: pl.DataFrame) -> pl.DataFrame:
    """Return the conversations that have not ended."""
    return conversations.filter(pl.col("ended").is_null())


@dataclass
class Conversations:
    """The conversations of one shard of one model, from its plans and journals.

    Attributes:
        grid: the study's grid.
        shard: the part of the items, such as 1of1.
    """

    grid: Grid
    shard: str
    _before: dict[str, pl.DataFrame] = field(default_factory=dict)

    def before(self, of: Asked) -> pl.DataFrame:
        """Return the conversations up to a table's answers, or those before its turns."""
        begins_with = of.goes_on_from or of.dataset
        if begins_with not in self._before:
            self._before[begins_with] = self._continued(of)
        return self._before[begins_with]

    def _continued(self, of: Asked) -> pl.DataFrame:
        if of.goes_on_from:
            turns = asked(self.grid)[of.goes_on_from]
            return continued(self.before(turns), self.turns(turns), turns.depth)
        path = self.grid.dataset_path(of.dataset)
        items = pl.read_parquet(path, columns=["item", "messages"])
        is_own = [is_in_shard(item, self.shard) for item in items["item"]]
        return items.filter(pl.Series(is_own, dtype=pl.Boolean))

    def turns(self, of: Asked) -> pl.DataFrame:
        """Return the user turns of a table, of all shards."""
        folder = self.grid.requests_folder(of.model, of.dataset, of.identity)
        plan, paths = read_whole_plan(folder), sorted(folder.glob("[!.]*.parquet"))
        journal = journal_of(self.grid, of.model, of.dataset, paths)
        return collect(plan, read_outcomes(journal, plan["key"].drop_nulls()))


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
        tables: the answers and the user turns of the depth.
        paths_before: the conversations, then the user turns, of the depth before it.
        path_to_conversations: output file of the conversations up to its answers.
        path_to_answers: output file of its answers.
        path_to_user_turns: output file of its user turns.
    """
    answers, turns = tables
    path_to_conversations_before, path_to_turns_before = paths_before
    before = pl.read_parquet(path_to_conversations_before)
    said = pl.read_parquet(path_to_turns_before, columns=["sample", *READ])
    conversations = continued(before, said, turns.depth - 1)
    write_table(conversations, path_to_conversations, turns.identity)
    collect_table(grid, answers, path_to_answers)
    collect_table(grid, turns, path_to_user_turns)


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
        exchanges = exchanges_at(conversations, asked(grid)[at.path_to_user_turns])
        drawn = draw_distractors(exchanges, settings["distractors"], grid.config["seed"])
        place = {"temperature": grid.temperatures[at.temperature], "sample": 0}
        for exchange in exchanges:
            if exchange.item in sample and exchange.turn.strip():
                contexts = own_contexts(exchange, drawn[exchange.item])
                yield TurnToScore(exchange, contexts, {**place, "perturbation": at.name})


def exchanges_at(conversations: Conversations, turns: Asked) -> list[Exchange]:
    """Return the conversations that have an answer before some turns, with the turn."""
    before = conversations.before(turns)
    known = going_on(before) if turns.goes_on_from else before
    written = conversations.turns(turns).filter(pl.col("sample") == 0)
    both = known.join(written, on="item", maintain_order="left")
    return [
        Exchange(item, tuple(messages), ShownAnswer(answer), text if outcome == "ok" else "")
        for item, messages, answer, outcome, text in both.select(
            "item", "messages", "answer", "outcome", "text"
        ).iter_rows()
        if answer and answer.strip()
    ]
