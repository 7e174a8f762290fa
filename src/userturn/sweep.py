"""A sweep: load one model once and work through every pending request of it.

Answers come first, then the user turns of every dataset, temperature and perturbation. What the
journals hold already is not asked again; with nothing missing nothing is loaded at all.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from userturn.answers import split_reasoning
from userturn.asking import Asker, Record
from userturn.cells import Cell
from userturn.config import Config
from userturn.datasets import Item, read_items
from userturn.engine import load_engine
from userturn.fingerprints import fingerprint
from userturn.grid import Grid
from userturn.leases import lease
from userturn.models import model_folder
from userturn.perturbations import Donor, needs_donor
from userturn.planning import Planned, Planner, write_plan
from userturn.requests import Request
from userturn.settled import n_settled, plan_path, read_description, request_identity
from userturn.signals import StopFlag
from userturn.tables import write_json
from userturn.templates import load_template

HASH_RANGE = 2**64


def shard_of(item: str, n_shards: int) -> int:
    """Return the shard (from 1) that an item belongs to: an interval of its hash."""
    return int(fingerprint(item)[:16], 16) * n_shards // HASH_RANGE + 1


def next_in_hash_order(items: Iterable[str]) -> dict[str, str]:
    """Return for each item the one with the next hash, the first for the last.

    Shards are intervals of the hash, so the next item is nearly always in the same shard. An
    item that is alone has no next.
    """
    ordered = sorted(items, key=fingerprint)
    following = [*ordered[1:], *ordered[:1]]
    return {item: other for item, other in zip(ordered, following, strict=True) if item != other}


def _requests(plans: Iterable[Sequence[Planned]]) -> list[Request]:
    """Return the requests of several plans, those of one item next to each other."""
    rows = sorted((row for plan in plans for row in plan), key=lambda row: row.position)
    return [row.request for row in rows if row.request is not None]


@dataclass
class Sweep:
    """One shard of one model: plans what is pending, asks it, and notes the plans.

    Attributes:
        grid: the study's grid.
        model: name of the model.
        shard: which part of the items, such as 1of1.
        pending: identities of the answers and cells to fill.
        planner: makes the requests.
        asker: has them answered.
    """

    grid: Grid
    model: str
    shard: str
    pending: frozenset[str]
    planner: Planner
    asker: Asker

    @cached_property
    def cells(self) -> list[Cell]:
        """The pending cells."""
        mine = [cell for cell in self.grid.cells if cell.model == self.model]
        return [cell for cell in mine if self.grid.cell_identity(cell) in self.pending]

    @cached_property
    def all_items(self) -> dict[str, list[tuple[int, Item]]]:
        """The items of every dataset with something pending, with their positions."""
        of_cells = {cell.dataset for cell in self.cells}
        wanted = [
            name
            for name in self.grid.datasets
            if name in of_cells or self.grid.answers_identity(self.model, name) in self.pending
        ]
        return {name: list(enumerate(read_items(self.grid.dataset_path(name)))) for name in wanted}

    @cached_property
    def items(self) -> dict[str, list[tuple[int, Item]]]:
        """The shard's items of every dataset with something pending, with their positions."""
        number, _, n_shards = self.shard.partition("of")
        return {
            name: [
                (position, item)
                for position, item in numbered
                if shard_of(item.id, int(n_shards)) == int(number)
            ]
            for name, numbered in self.all_items.items()
        }

    @cached_property
    def donors(self) -> dict[str, dict[str, str]]:
        """Whose answer stands in for whose, for the datasets with a cell that asks for it."""
        operators = {
            cell: self.grid.contents.perturbations[cell.perturbation] for cell in self.cells
        }
        wanted = {cell.dataset for cell in self.cells if needs_donor(operators[cell])}
        return {
            name: next_in_hash_order(item.id for _, item in self.all_items[name])
            for name in sorted(wanted)
        }

    def _note(self, plan: Sequence[Planned], dataset: str, identity: str) -> None:
        path = plan_path(self.grid, self.model, dataset, identity, self.shard)
        write_plan(plan, path, identity, self.planner.identity)

    def plan_answers(self) -> dict[str, list[Planned]]:
        """Plan and note the answers to every dataset."""
        plans = {}
        for name, numbered in self.items.items():
            drawn = self.grid.answer_settings(self.model)
            plans[name] = [self.planner.answer(name, i, item, drawn) for i, item in numbered]
            self._note(plans[name], name, self.grid.answers_identity(self.model, name))
        return plans

    def plan_borrowed(self) -> dict[str, list[Planned]]:
        """Plan the answers of other shards' items that stand in for those of this shard's."""
        drawn = self.grid.answer_settings(self.model)
        plans = {}
        for name, donors in self.donors.items():
            own = {item.id for _, item in self.items[name]}
            lent = {donors[item] for item in own if item in donors} - own
            plans[name] = [
                self.planner.answer(name, position, item, drawn)
                for position, item in self.all_items[name]
                if item.id in lent
            ]
        return plans

    def plan_cell(self, cell: Cell, answers: Mapping[str, str | None]) -> list[Planned]:
        """Plan and note the user turns of one cell; `answers` are by item."""
        temperature = self.grid.temperatures[cell.temperature]
        drawn = self.grid.user_turn_settings(temperature)
        operator = self.grid.contents.perturbations[cell.perturbation]
        donors = self.donors.get(cell.dataset, {})
        plan = [
            self.planner.user_turn(
                cell.dataset,
                position,
                item,
                sample,
                answers.get(item.id),
                operator,
                drawn,
                _donor(donors.get(item.id), answers),
            )
            for position, item in self.items[cell.dataset]
            for sample in range(self.grid.n_samples(cell.temperature))
        ]
        self._note(plan, cell.dataset, self.grid.cell_identity(cell))
        return plan

    def run(self) -> None:
        """Ask for the answers, then for the user turns of all cells at once."""
        own, borrowed = self.plan_answers(), self.plan_borrowed()
        plans = {name: [*plan, *borrowed.get(name, [])] for name, plan in own.items()}
        records = self.asker.complete("answers", _requests(plans.values()))
        answers = {
            name: {row.item: _shown(row, records) for row in plan} for name, plan in plans.items()
        }
        turns = [self.plan_cell(cell, answers[cell.dataset]) for cell in self.cells]
        self.asker.complete("user turns", _requests(turns))


def _donor(item: str | None, answers: Mapping[str, str | None]) -> Donor | None:
    return None if item is None else Donor(item, answers.get(item))


def _shown(row: Planned, records: Mapping[str, Record]) -> str | None:
    """Return the answer that the model is shown as its own, or None where it has none."""
    record = records.get(row.request.key) if row.request else None
    if record is None or row.request is None or record["outcome"] == "error":
        return None
    return split_reasoning(record["text"], row.request.prompt.text).text


def engine_settings(config: Config, line: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model's engine is loaded with, by the study's settings and the model's line."""
    settings: dict[str, Any] = config["vllm"] | {
        "dtype": line["dtype"],
        "max_model_len": line["max_model_len"],
        "trust_remote_code": line["trust_remote_code"],
        "tensor_parallel_size": max(1, line["gpus"] // line["nodes"]),
        "nnodes": line["nodes"],
        "exact": config.get("determinism") == "exact",
    }
    return settings


def load_sweep(grid: Grid, model: str, shard: str, pending: Iterable[str], stop: StopFlag) -> Sweep:
    """Return the sweep of one shard, its tokenizer loaded and its engine not yet."""
    line, config = grid.models[model], grid.config
    revision = read_description(grid, model)["revision"]  # the noted commit, no branch
    folder = model_folder(line["source"], revision)
    template = load_template(folder, line, config["today"])
    settings = engine_settings(config, line)
    asker = Asker(
        model,
        template,
        lambda dataset: grid.journal_folder(model, dataset),
        lambda: load_engine(config["engine"], folder, settings),
        stop,
    )
    identity = request_identity(grid, model)
    planner = Planner(identity, template, line["max_model_len"], config["seed"])
    return Sweep(grid, model, shard, frozenset(pending), planner, asker)


def run_sweep(
    grid: Grid,
    model: str,
    shard: str,
    pending: Iterable[str],
    n_threads: int,
    path_to_marker: str | Path,
) -> None:
    """Fill the journals with every request of a model's pending cells, then write the marker.

    Raises:
        UserError: the model cannot be loaded, somebody else sweeps it, or a signal ended the sweep.
    """
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    stop = StopFlag()
    wanted = sorted(pending)
    with lease(grid.leases_folder(model), shard, stop.set):
        stop.listen()
        n_found, n_asked = n_settled(grid, model, shard, wanted), 0
        if n_found is None:
            sweep = load_sweep(grid, model, shard, wanted, stop)
            sweep.run()
            n_found, n_asked = sweep.asker.n_found, sweep.asker.n_asked
        marker = {"pending": wanted, "n_found": n_found, "n_asked": n_asked}
        write_json(marker, path_to_marker, fingerprint(wanted))
