"""A sweep: load one model once and work through every pending request of it.

Answers come first, then the user turns of every dataset, temperature and perturbation. What the
journals hold already is not asked again; with nothing missing nothing is loaded at all.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from userturn.answers import split_reasoning
from userturn.asking import Asker
from userturn.cells import Cell
from userturn.config import Config
from userturn.engine import load_engine
from userturn.files import write_json
from userturn.fingerprints import fingerprint
from userturn.grid import Grid
from userturn.leases import lease
from userturn.models import model_folder
from userturn.outcomes import read_outcomes
from userturn.perturbations import Donor, needs_donor
from userturn.planning import Planned, Planner
from userturn.plans import Plan, write_plan
from userturn.settled import n_settled, plan_path, read_description, request_identity
from userturn.shards import Part, part_of
from userturn.signals import StopFlag
from userturn.templates import load_template


@dataclass
class Sweep:
    """One shard of one model: plans what is pending, notes the plans, and has them asked.

    One dataset's items and answers are in memory at a time, and no request but those that the
    engine holds.

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
    def cells(self) -> dict[str, list[Cell]]:
        """The pending cells of every dataset with something pending."""
        mine = [cell for cell in self.grid.cells if cell.model == self.model]
        pending = [cell for cell in mine if self.grid.cell_identity(cell) in self.pending]
        of_datasets = {
            name: [cell for cell in pending if cell.dataset == name] for name in self.grid.datasets
        }
        return {
            name: cells
            for name, cells in of_datasets.items()
            if cells or self.grid.answers_identity(self.model, name) in self.pending
        }

    def _operator(self, cell: Cell) -> Mapping[str, Any]:
        return self.grid.contents.perturbations[cell.perturbation]

    def _part(self, dataset: str) -> Part:
        with_donors = any(needs_donor(self._operator(cell)) for cell in self.cells[dataset])
        return part_of(self.grid.dataset_path(dataset), self.shard, with_donors)

    def plan_answers(self, dataset: str, scratch: Path) -> list[Plan]:
        """Write the plan of the answers to a dataset, that of answers lent to it to `scratch`."""
        drawn = self.grid.answer_settings(self.model)
        sampling = self.planner.sampling("assistant", drawn)
        identity, part = self.grid.answers_identity(self.model, dataset), self._part(dataset)
        noted = plan_path(self.grid, self.model, dataset, identity, self.shard)
        lent = scratch / f"{dataset}.parquet"
        for path, items in ((noted, part.own), (lent, part.lent)):
            plan = (self.planner.answer(dataset, i, item, drawn) for i, item in items)
            write_plan(plan, path, identity, self.planner.identity)
        return [Plan(path, dataset, sampling) for path in (noted, lent)]

    def plan_cells(self, dataset: str, answers: Mapping[str, str | None]) -> Iterator[Plan]:
        """Write the plans of the user turns after the answers to a dataset, which are by item."""
        part = self._part(dataset)
        for cell in self.cells[dataset]:
            drawn = self.grid.user_turn_settings(self.grid.temperatures[cell.temperature])
            identity = self.grid.cell_identity(cell)
            path = plan_path(self.grid, self.model, dataset, identity, self.shard)
            plan = self._user_turns(cell, part, answers, drawn)
            write_plan(plan, path, identity, self.planner.identity)
            yield Plan(path, dataset, self.planner.sampling("user", drawn))

    def _user_turns(
        self,
        cell: Cell,
        part: Part,
        answers: Mapping[str, str | None],
        drawn: Mapping[str, Any],
    ) -> Iterator[Planned]:
        operator = self._operator(cell)
        for position, item in part.own:
            donor = part.donors.get(item.id)
            lent = None if donor is None else Donor(donor, answers.get(donor))
            for sample in range(self.grid.n_samples(cell.temperature)):
                shown = answers.get(item.id)
                yield self.planner.user_turn(
                    cell.dataset, position, item, sample, shown, operator, drawn, lent
                )

    def run(self) -> None:
        """Ask for the answers, then for the user turns of all cells at once."""
        with TemporaryDirectory() as scratch:
            answers = {name: self.plan_answers(name, Path(scratch)) for name in self.cells}
            self.asker.complete("answers", chain.from_iterable(answers.values()))
            turns = [
                plan
                for name, plans in answers.items()
                for plan in self.plan_cells(name, shown_answers(plans, self.asker.journal(name)))
            ]
        self.asker.complete("user turns", turns)


def shown_answers(plans: Iterable[Plan], journal: Path) -> dict[str, str | None]:
    """Return by item the answers that the model is shown as its own; None where it has none."""
    asked = pl.concat([plan.rows("item", "key", "prompt_text") for plan in plans])
    outcomes = read_outcomes(journal, asked["key"], ["key", "outcome", "text"])
    rows = asked.join(outcomes, on="key", how="left")
    return {
        item: split_reasoning(text, prompt).text if outcome in ("ok", "empty") else None
        for item, _, prompt, outcome, text in rows.iter_rows()
    }


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
