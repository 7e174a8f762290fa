"""Continue conversations with the model's own user turns, and plan what is asked at each depth.

Conversations are tables with `item`, `messages` (null once it has ended) and `ended`, the reason.
Only the first sample of a cell goes on, so there is one conversation for each item.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import polars as pl

from userturn.datasets.prepare import MESSAGE, Item
from userturn.generation.ask_engine import Runner
from userturn.generation.collect import collect, shown_answers
from userturn.generation.plan_files import Plan, plan_path, plan_writer, read_whole_plan
from userturn.generation.planner import Planner
from userturn.generation.shards import is_in_shard
from userturn.models.seeds import role_at
from userturn.sources.self_play import Depth, depth_identity, depths
from userturn.sources.source import ANSWERS, USER_TURNS
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
UNPERTURBED = {"operator": "none"}


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
    if turn["outcome"] not in ("ok", "empty"):
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
    _before: dict[Depth, pl.DataFrame] = field(default_factory=dict)

    def before(self, at: Depth) -> pl.DataFrame:
        """Return the conversations up to the answers of a depth; the one before has its turns."""
        if at not in self._before:
            self._before[at] = self._continued(at)
        return self._before[at]

    def _continued(self, at: Depth) -> pl.DataFrame:
        if at.depth == 1:
            path = self.grid.dataset_path(at.dataset)
            items = pl.read_parquet(path, columns=["item", "messages"])
            is_own = [is_in_shard(item, self.shard) for item in items["item"]]
            return items.filter(pl.Series(is_own, dtype=pl.Boolean))
        return continued(self.before(at.before), self.turns(at.before), at.before.depth)

    def turns(self, at: Depth) -> pl.DataFrame:
        """Return the user turns of a depth, of all shards."""
        identity = depth_identity(self.grid, at)
        folder = self.grid.requests_folder(at.model, at.dataset, identity)
        plan, paths = read_whole_plan(folder), sorted(folder.glob("[!.]*.parquet"))
        journal = journal_of(self.grid, at.model, at.dataset, paths)
        return collect(plan, read_outcomes(journal, plan["key"].drop_nulls()))


@dataclass
class SelfPlayPlans:
    """The plans of one shard of one model beyond depth 1.

    Attributes:
        grid: the study's grid; plans are written below its results.
        shard: the part of the items, such as 1of1.
        planner: makes the requests.
    """

    grid: Grid
    shard: str
    planner: Planner

    def _items(self, at: Depth, conversations: pl.DataFrame) -> Iterator[tuple[int, Item]]:
        """Yield the conversations that go on as items, with their position in the dataset."""
        names = pl.read_parquet(self.grid.dataset_path(at.dataset), columns=["item"])["item"]
        positions = {item: position for position, item in enumerate(names)}
        for item, messages, _ in going_on(conversations).iter_rows():
            yield positions[item], Item(item, tuple(messages))

    def answers(self, at: Depth, conversations: pl.DataFrame) -> Plan:
        """Write the plan of a depth's answers."""
        drawn = self.grid.answer_settings(at.model)
        plan, add = self._plan(at, ANSWERS, "assistant", drawn)
        asked_as = self.grid.places.of_dataset(at.dataset)
        with add as write:
            for position, item in self._items(at, conversations):
                where = (asked_as, position, item)
                write(self.planner.answer(*where, plan.sampling, depth=at.depth))
        return plan

    def user_turns(
        self, at: Depth, conversations: pl.DataFrame, answers: Mapping[str, str | None]
    ) -> Plan:
        """Write the plan of a depth's user turns, after its answers by item."""
        drawn = self.grid.user_turn_settings(self.grid.temperatures[at.temperature])
        plan, add = self._plan(at, USER_TURNS, "user", drawn)
        asked_as = self.grid.places.of_dataset(at.dataset)
        with add as write:
            for position, item in self._items(at, conversations):
                probe = self.planner.probe(item, answers.get(item.id), UNPERTURBED)
                where = (asked_as, position, item.id, 0)
                write(self.planner.user_turn(*where, probe, plan.sampling, at.depth))
        return plan

    def _plan(self, at: Depth, what: str, role: str, drawn: Mapping[str, Any]) -> tuple[Plan, Any]:
        """Return a plan and the context that writes it."""
        identity = depth_identity(self.grid, at, what)
        path = plan_path(self.grid, at.model, at.dataset, identity, self.shard)
        sampling = self.planner.sampling(role, drawn)
        plan = Plan(path, at.dataset, sampling, role_at(role, at.depth))
        return plan, plan_writer(path, identity, self.planner.identity)


def ask_depths(plans: SelfPlayPlans, model: str, pending: Iterable[str], runner: Runner) -> None:
    """Generate the pending answers and user turns of a model's self-play, depth by depth."""
    wanted = set(pending)
    mine = [at for at in depths(plans.grid) if at.model == model]
    lacking = [at for at in mine if depth_identity(plans.grid, at) in wanted]
    conversations = Conversations(plans.grid, plans.shard)
    for depth, together in groupby(lacking, key=lambda at: at.depth):
        before = {at: conversations.before(at) for at in together}
        asked = {at: plans.answers(at, messages) for at, messages in before.items()}
        runner.complete(f"answers at depth {depth}", asked.values())
        form = runner.form
        turns = [
            plans.user_turns(
                at,
                before[at],
                shown_answers(
                    [plan.path], journal_of(plans.grid, model, at.dataset, [plan.path]), form
                ),
            )
            for at, plan in asked.items()
        ]
        runner.complete(f"user turns at depth {depth}", turns)
