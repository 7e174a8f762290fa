"""Read back what a model wrote: conversations that it goes on with, and turns that are scored.

Reference follow-ups and candidates are scored, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import polars as pl

from userturn.config.entries import likelihood_settings
from userturn.datasets.messages import ShownAnswer
from userturn.datasets.prepare import MESSAGE, rank, read_items
from userturn.generation.collect import ANSWERED, collect, shown_samples
from userturn.generation.plan_files import is_in_shard, plan_paths, read_whole_plan
from userturn.generation.scorer import (
    NO_ANSWER,
    PROMPT,
    Context,
    Exchange,
    TurnToScore,
    draw_distractors,
    ending_of,
    human_contexts,
    human_exchanges,
    own_contexts,
)
from userturn.prompts.answer_layout import AnswerLayout
from userturn.sources.answers import answers_path
from userturn.sources.candidates import read_reactions, table_path
from userturn.sources.registry import asked, sources
from userturn.sources.scores import has_endings, n_own_distractors, n_own_turns
from userturn.sources.source import ANSWERS, USER_TURNS, Asked, named
from userturn.storage.journal_table import Journal, read_outcomes
from userturn.storage.table_files import Schema
from userturn.study.asks import journal_of, scan_plans
from userturn.study.cells import Cell
from userturn.study.contents import REACTIONS as REACTIONS_FILE
from userturn.study.grid import Grid
from userturn.study.model_description import last_description

CONVERSATIONS: Schema = {"item": pl.String, "messages": pl.List(MESSAGE), "ended": pl.String}
READ = ["item", "answer", "outcome", "text", "error"]
EMPTY = "the user turn of depth {} was empty"
FAILED = "the user turn of depth {} failed: {}"


def turns_to_score(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield the turns of a table that a shard scores, with a model's own read from its journal."""
    of_name = {name: f for of in sources().values() for name, f in of.turns_to_score.items()}
    turns: Iterator[TurnToScore] = named(of_name[scored.name])(grid, scored, shard)
    return turns


def human_turns(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield the reference follow-ups of a dataset that a shard scores."""
    settings = likelihood_settings(grid.config) or {}
    exchanges = human_exchanges(pl.read_parquet(grid.dataset_path(scored.dataset)))
    distractors = draw_distractors(exchanges, settings["distractors"], grid.config["seed"])
    for exchange in exchanges:
        if is_in_shard(exchange.item, shard):
            ended = [ending_of(exchange)] if has_endings(grid.config) else []
            contexts = human_contexts(exchange, distractors[exchange.item])
            yield TurnToScore(exchange, [*contexts, *ended], {})


def own_turns(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield a sample of the model's own turns, of the same items in every cell.

    Each turn's own context is the item with the model's unperturbed answer. The distractors are the
    model's answers to other items of the shard. Before the turns come the contexts in which the
    immediate end of a turn is scored, after unperturbed answers.
    """
    answered = _answered(grid, scored, shard)
    distractors = own_distractors(grid, answered.values())
    cells = grid.cells_of[scored.model, scored.dataset]
    sample = [item for item in sampled_items(grid, scored.dataset) if item in answered]
    for item in sample if has_endings(grid.config) else ():
        yield TurnToScore(answered[item], [ending_of(answered[item])], {})
    for item, cell, text in _texts(grid, cells, shard, sample).iter_rows():
        exchange = replace(answered[item], turn=text)
        names = {
            "temperature": grid.temperatures[cells[cell].temperature],
            "perturbation": cells[cell].perturbation,
            "sample": 0,
        }
        yield TurnToScore(exchange, own_contexts(exchange, distractors[item]), names)


def sampled_items(grid: Grid, dataset: str) -> list[str]:
    """Return the items of a dataset whose own turns are drawn to be scored."""
    names = pl.read_parquet(grid.dataset_path(dataset), columns=["item"])["item"]
    ranked = sorted(names, key=lambda item: rank(grid.config["seed"], item))
    return ranked[: n_own_turns(grid.config)]


def own_distractors(grid: Grid, answered: Iterable[Exchange]) -> dict[str, list[Exchange]]:
    """Return the distractors of the model's turns after each answer, by item."""
    return draw_distractors([*answered], n_own_distractors(grid.config), grid.config["seed"])


def reactions(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield each candidate of a shard after its prompt, and the turns after it.

    The turns are the fixed reactions and the turn that the model wrote, whose distractors are those
    of the item's first answer. A candidate without text is left out.
    """
    model_and_dataset, texts = (scored.model, scored.dataset), read_reactions(REACTIONS_FILE)
    answers = _shown(grid, table_path(*model_and_dataset, ANSWERS), shard)
    prompts = {item.id: item.messages for item in read_items(grid.dataset_path(scored.dataset))}
    written: dict[tuple[str, int], str] = {}
    distractors: dict[str, list[Exchange]] = {}
    if n_own_distractors(grid.config):
        written = _texts_after_candidates(
            grid, asked(grid)[table_path(*model_and_dataset, USER_TURNS)], shard
        )
        distractors = own_distractors(grid, _answered(grid, scored, shard).values())
    for (item, sample), answer in answers.items():
        if answer is None or not answer.text.strip():
            continue
        of_sample, prompt = {"sample": sample}, prompts[item]
        exchange = Exchange(item, prompt, NO_ANSWER, answer.text)
        yield TurnToScore(exchange, [Context(PROMPT, None, prompt, NO_ANSWER)], of_sample)
        for name, text in texts.items():
            context = Context(name, None, prompt, answer)
            yield TurnToScore(Exchange(item, prompt, answer, text), [context], of_sample)
        if (turn := written.get((item, sample))) and distractors.get(item):
            own = Exchange(item, prompt, answer, turn)
            yield TurnToScore(own, own_contexts(own, distractors[item]), of_sample)


def _shown(grid: Grid, path: str, shard: str) -> dict[tuple[str, int], ShownAnswer | None]:
    """Return a table's answers to a shard's items by item and sample, or None if there is none."""
    of = asked(grid)[path]
    paths = plan_paths(grid, of.model, of.dataset, of.identity, shard)
    answer_layout = AnswerLayout.recorded(last_description(grid, of.model))
    samples = shown_samples(paths, journal_of(grid, of.model, of.dataset, paths), answer_layout)
    return {
        item_and_sample: text
        for item_and_sample, text in samples.items()
        if is_in_shard(item_and_sample[0], shard)
    }


def _answered(grid: Grid, scored: Asked, shard: str) -> dict[str, Exchange]:
    """Return by item the exchanges of a shard that the model has answered, with an empty turn."""
    answers = _shown(grid, answers_path(scored.model, scored.dataset), shard)
    return {
        item.id: Exchange(item.id, item.messages, answer, "")
        for item in read_items(grid.dataset_path(scored.dataset))
        if (answer := answers.get((item.id, 0))) and answer.text.strip()
    }


def _texts_after_candidates(grid: Grid, turns: Asked, shard: str) -> dict[tuple[str, int], str]:
    paths = plan_paths(grid, turns.model, turns.dataset, turns.identity, shard)
    plan = pl.read_parquet(paths, columns=["key", "item", "sample"])
    texts = _written(journal_of(grid, turns.model, turns.dataset, paths), plan)
    return {(item, n): text for item, n, text in texts.select("item", "sample", "text").iter_rows()}


def _texts(grid: Grid, cells: list[Cell], shard: str, items: list[str]) -> pl.DataFrame:
    """Return the first turn of some items in some cells: columns item, cell number and text."""
    model, dataset = cells[0].model, cells[0].dataset
    paths = [plan_paths(grid, model, dataset, grid.cell_identity(c), shard) for c in cells]
    rows = [
        scan_plans(mine)
        .filter(pl.col("item").is_in(items), pl.col("sample") == 0)
        .select("key", "item", "position", cell=pl.lit(number))
        for number, mine in enumerate(paths)
    ]
    plan = pl.concat(rows).collect().unique(["item", "cell"], maintain_order=True)
    written = _written(journal_of(grid, model, dataset, chain.from_iterable(paths)), plan)
    return written.sort("position", "cell").select("item", "cell", "text")


def _written(journal: Journal, plan: pl.DataFrame) -> pl.DataFrame:
    outcomes = read_outcomes(journal, plan["key"], ["key", "outcome", "text"])
    return plan.join(outcomes.filter(pl.col("outcome") == "ok"), on="key")


def continued(conversations: pl.DataFrame, turns: pl.DataFrame, depth: int) -> pl.DataFrame:
    """Return conversations with the answer and the user turn of one depth, or why they ended.

    Args:
        conversations: `item`, `messages` before the answer of this depth, and perhaps `ended`.
        turns: `sample` and the columns of `READ` of the user turns of this depth.
        depth: the number of this depth.
    """
    turn_of_item = {
        row["item"]: row for row in turns.filter(pl.col("sample") == 0).iter_rows(named=True)
    }
    rows = []
    for row in conversations.iter_rows(named=True):
        messages, ended = row["messages"], row.get("ended")
        if ended is None:
            messages, ended = _extended(messages, turn_of_item[row["item"]], depth)
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
    """The conversations of one shard of one model, from its plans and journals."""

    grid: Grid
    shard: str
    _before: dict[str, pl.DataFrame] = field(default_factory=dict)

    def conversations_before(self, of: Asked) -> pl.DataFrame:
        """Return the conversations before the answers or user turns of a table."""
        begins_with = of.goes_on_from or of.dataset
        if begins_with not in self._before:
            self._before[begins_with] = self._continued(of)
        return self._before[begins_with]

    def _continued(self, of: Asked) -> pl.DataFrame:
        if of.goes_on_from:
            turns = asked(self.grid)[of.goes_on_from]
            return continued(self.conversations_before(turns), self.turns(turns), turns.depth)
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
