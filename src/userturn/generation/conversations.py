"""Conversations that a model continues with its own user turns, from plans and journals.

Conversations are tables with `item`, `messages` (null once it has ended) and `ended`, the reason.
Only the first sample of a cell goes on, so there is one conversation for each item.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from userturn.datasets.prepare import MESSAGE
from userturn.generation.collect import ANSWERED, collect
from userturn.generation.plan_files import read_whole_plan
from userturn.generation.shards import is_in_shard
from userturn.sources.registry import asked
from userturn.sources.source import Asked
from userturn.storage.journal_table import read_outcomes
from userturn.storage.parquet import Schema
from userturn.study.grid import Grid
from userturn.study.replies import journal_of

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
