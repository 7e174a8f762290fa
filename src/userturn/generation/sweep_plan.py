"""Write the plans of a sweep: everything that one model is still to be asked, stage by stage."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from userturn.datasets.prepare import Item, read_items
from userturn.generation.collect import Shown, answers_of_another, shown_samples
from userturn.generation.load_model import LoadedModel
from userturn.generation.plan_files import (
    AnyPlan,
    Plan,
    ScoringPlan,
    is_in_shard,
    next_in_hash_order,
    plan_path,
    plan_paths,
    plan_writer,
    write_plan,
)
from userturn.generation.planner import Planner
from userturn.generation.scored_turns import Conversations, going_on, turns_to_score
from userturn.generation.scorer import SCORING_PLAN_SCHEMA, Scorer
from userturn.models.requests import role_at
from userturn.prompts.answer_layout import AnswerLayout
from userturn.prompts.perturbations import Donor, needs_donor
from userturn.sources.registry import asked, asked_of, stages
from userturn.sources.source import ANSWERS, SCORES, USER_TURNS, Asked, operator_of
from userturn.study.asks import asks_of, digest_of, journal_of
from userturn.study.grid import Grid

Numbered = tuple[int, Item]  # an item with its position in the dataset


def planner_of(grid: Grid, model: LoadedModel) -> Planner:
    """Return the planner of a loaded model's requests."""
    asks = asks_of(grid, model.name)
    return Planner(model.identity, model.template, model.max_model_len, grid.config["seed"], asks)


@dataclass
class SweepPlans:
    """The plans of one shard of one model, with the answers to one dataset in memory at a time.

    Attributes:
        pending: identities of the tables to fill.
        scratch: folder for the plans of answers to items of other shards.
    """

    grid: Grid
    model: str
    shard: str
    pending: frozenset[str]
    planner: Planner
    scorer: Scorer
    layout: AnswerLayout
    scratch: Path
    _written: dict[str, list[Path]] = field(default_factory=dict)

    @cached_property
    def tables(self) -> dict[str, Asked]:
        """The tables to plan, by path: the pending ones, and the answers before pending turns."""
        mine = asked_of(self.grid, self.model)
        pending = [of for of in mine if of.identity in self.pending]
        planned = {of.path for of in pending} | {of.stands_after for of in pending}
        return {of.path: of for of in mine if of.path in planned}

    def stages(self) -> Iterator[tuple[str, list[Asked]]]:
        """Yield the name of each stage with the tables that are asked for together in it.

        A table comes after those that its prompts are made of. All scores are the last stage.
        """
        written = [of for of in self.tables.values() if of.kind != SCORES]
        for tables in stages(written):
            for name in dict.fromkeys(map(_stage, tables)):
                yield name, [of for of in tables if _stage(of) == name]
        if scores := [of for of in self.tables.values() if of.kind == SCORES]:
            yield SCORES, scores

    def plans(self, tables: Sequence[Asked]) -> Iterator[AnyPlan]:
        """Write and yield the plans of the tables of a stage."""
        yield from self.texts(tables)
        for of in tables:
            if of.kind == SCORES:
                yield self._scores(of)

    def texts(self, tables: Sequence[Asked]) -> Iterator[Plan]:
        """Write and yield the plans of the tables of a stage that have texts."""
        for of in tables:
            if of.kind == ANSWERS:
                yield from self._answers(of)
        turns = [of for of in tables if of.kind == USER_TURNS]
        for path in dict.fromkeys(of.stands_after for of in turns):
            answers = self.shown(asked(self.grid)[path])
            after = [of for of in turns if of.stands_after == path]
            for perturbation in dict.fromkeys(of.cell["perturbation"] for of in after):
                alike = [of for of in after if of.cell["perturbation"] == perturbation]
                yield from self._user_turns(alike, answers)

    def shown(self, answers: Asked) -> Shown:
        """Return the answers that a table shows, from the journal if they are the model's own."""
        grid, model, dataset = self.grid, self.model, answers.dataset
        if answers.model != model:
            return answers_of_another(grid, answers)
        paths = self._written.get(answers.path)
        paths = paths or plan_paths(grid, model, dataset, answers.identity, self.shard)
        return shown_samples(paths, journal_of(grid, model, dataset, paths), self.layout)

    def conversations_before(self, of: Asked) -> pl.DataFrame:
        """Return the conversations that a table continues."""
        return self._conversations.conversations_before(of)

    @cached_property
    def _conversations(self) -> Conversations:
        return Conversations(self.grid, self.shard)

    def _shows_another(self, turns: Asked) -> bool:
        return needs_donor(operator_of(self.grid, turns))

    @cached_property
    def _donors(self) -> dict[str, dict[str, str]]:
        """The donor of each item by dataset, whose answer is shown in place of the item's own."""
        turns = (of for of in self.tables.values() if of.kind == USER_TURNS)
        return {of.dataset: self._donors_of(of.dataset) for of in turns if self._shows_another(of)}

    def _donors_of(self, dataset: str) -> dict[str, str]:
        items = pl.read_parquet(self.grid.dataset_path(dataset), columns=["item", "messages"])
        contents = {item: digest_of(messages) for item, messages in items.iter_rows()}
        return next_in_hash_order(contents, contents if self.grid.contents.ids == 2 else None)

    def _all_items(self, dataset: str) -> Iterator[Numbered]:
        """Yield the items of a dataset, read from disk on every pass."""
        return enumerate(read_items(self.grid.dataset_path(dataset)))

    def _items(self, of: Asked) -> Iterator[Numbered]:
        if not of.goes_on_from:
            yield from (pair for pair in self._all_items(of.dataset) if self._is_own(pair[1].id))
            return
        names = pl.read_parquet(self.grid.dataset_path(of.dataset), columns=["item"])["item"]
        positions = {item: position for position, item in enumerate(names)}
        for item, messages, _ in going_on(self.conversations_before(of)).iter_rows():
            yield positions[item], Item(item, tuple(messages))

    def _is_own(self, item: str) -> bool:
        return is_in_shard(item, self.shard)

    def _borrowed_items(self, dataset: str) -> Iterator[Numbered]:
        donors = {donor for item, donor in self._donors[dataset].items() if self._is_own(item)}
        foreign = {donor for donor in donors if not self._is_own(donor)}
        return (pair for pair in self._all_items(dataset) if pair[1].id in foreign)

    def _path(self, of: Asked) -> Path:
        return plan_path(self.grid, self.model, of.dataset, of.identity, self.shard)

    def _answers(self, of: Asked) -> Iterator[Plan]:
        """Write and yield the plan of answers, and that of answers borrowed from other shards."""
        sampling = self.planner.sampling("assistant", of.sampling)
        planned: dict[Path, Iterable[Numbered]] = {self._path(of): self._items(of)}
        after = [turns for turns in self.tables.values() if turns.stands_after == of.path]
        if any(map(self._shows_another, after)):
            planned[self.scratch / f"{of.identity}.parquet"] = self._borrowed_items(of.dataset)
        self._written[of.path] = [*planned]
        asked_as, role = self.grid.places.dataset_name(of.dataset), role_at("assistant", of.depth)
        for path, items in planned.items():
            rows = (
                self.planner.answer(asked_as, position, item, sampling, sample, of.depth).columns
                for position, item in items
                for sample in range(of.n_samples)
            )
            write_plan(rows, path, of.identity, self.planner.identity)
            yield Plan(path, of.dataset, sampling, role)

    def _user_turns(self, tables: Sequence[Asked], shown: Shown) -> list[Plan]:
        """Write and return plans of turns that differ only in temperature and so share probes."""
        first = tables[0]
        n_answers = asked(self.grid)[first.stands_after].n_samples
        operator = operator_of(self.grid, first)
        donors = self._donors[first.dataset] if needs_donor(operator) else {}
        asked_as, depth = self.grid.places.dataset_name(first.dataset), first.depth
        plans, draws = [], []
        with ExitStack() as stack:
            for of in tables:
                sampling, path = self.planner.sampling("user", of.sampling), self._path(of)
                plans.append(Plan(path, of.dataset, sampling, role_at("user", depth)))
                add = stack.enter_context(plan_writer(path, of.identity, self.planner.identity))
                draws.append((add, sampling, range(of.n_samples)))
            for position, item in self._items(first):
                donor = donors.get(item.id)
                borrowed = None if donor is None else Donor(donor, shown.get((donor, 0)))
                for answer in range(n_answers):
                    probe = self.planner.probe(
                        item, shown.get((item.id, answer)), operator, borrowed
                    )
                    where = asked_as, position, item.id
                    for add, sampling, samples in draws:
                        for sample in samples if n_answers == 1 else [answer]:
                            turn = self.planner.user_turn(*where, sample, probe, sampling, depth)
                            add(turn.columns)
        return plans

    def _scores(self, of: Asked) -> ScoringPlan:
        scorer = replace(self.scorer, dataset=self.grid.places.dataset_name(of.dataset))
        turns, path = turns_to_score(self.grid, of, self.shard), self._path(of)
        write_plan(scorer.rows(turns), path, of.identity, scorer.identity, SCORING_PLAN_SCHEMA)
        return ScoringPlan(path, of.dataset)


def _stage(of: Asked) -> str:
    return of.kind if of.depth == 1 else f"{of.kind} at depth {of.depth}"
