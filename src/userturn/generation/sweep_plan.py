"""Write the plans of a sweep: one model's pending answers and cells."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from userturn.generation.loaded_model import LoadedModel
from userturn.generation.plan_files import Plan, plan_path, plan_writer, write_plan
from userturn.generation.planner import Planner, Probe
from userturn.generation.shards import Part, part_of
from userturn.prompts.perturbations import Donor, needs_donor
from userturn.study.asks import asks_of
from userturn.study.cells import Cell
from userturn.study.grid import Grid


def planner_of(grid: Grid, model: LoadedModel) -> Planner:
    """Return the planner of a loaded model's requests."""
    asks = asks_of(grid, model.name)
    return Planner(model.identity, model.template, model.max_model_len, grid.config["seed"], asks)


@dataclass
class PendingPlans:
    """The plans of one shard of one model; only one dataset's answers are in memory at a time.

    Attributes:
        grid: the study's grid.
        model: name of the model.
        shard: the part of the items, such as 1of1.
        pending: identities of the answers and cells to fill.
        planner: makes the requests.
    """

    grid: Grid
    model: str
    shard: str
    pending: frozenset[str]
    planner: Planner

    @cached_property
    def cells(self) -> dict[str, list[Cell]]:
        """Return the pending cells of every dataset that has any."""
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

    def _operator(self, perturbation: str) -> Mapping[str, Any]:
        return self.grid.contents.perturbations[perturbation]

    def _part(self, dataset: str) -> Part:
        used = {cell.perturbation for cell in self.cells[dataset]}
        with_donors = any(needs_donor(self._operator(perturbation)) for perturbation in used)
        path, ids = self.grid.dataset_path(dataset), self.grid.contents.ids
        return part_of(path, self.shard, with_donors, ids)

    def _path(self, dataset: str, identity: str) -> Path:
        return plan_path(self.grid, self.model, dataset, identity, self.shard)

    def answers(self, dataset: str, scratch: Path) -> list[Plan]:
        """Write the plans of the answers to a dataset; that of borrowed answers to `scratch`."""
        sampling = self.planner.sampling("assistant", self.grid.answer_settings(self.model))
        identity, part = self.grid.answers_identity(self.model, dataset), self._part(dataset)
        noted, lent = self._path(dataset, identity), scratch / f"{dataset}.parquet"
        asked_as = self.grid.places.of_dataset(dataset)
        for path, items in ((noted, part.own), (lent, part.lent)):
            plan = (self.planner.answer(asked_as, i, item, sampling) for i, item in items)
            write_plan(plan, path, identity, self.planner.identity)
        return [Plan(path, dataset, sampling, "assistant") for path in (noted, lent)]

    def user_turns(self, dataset: str, answers: Mapping[str, str | None]) -> Iterator[Plan]:
        """Write the plans of the user turns that follow the answers to a dataset, given by item."""
        part = self._part(dataset)
        of_perturbations: dict[str, list[Cell]] = {}
        for cell in self.cells[dataset]:
            of_perturbations.setdefault(cell.perturbation, []).append(cell)
        for perturbation, cells in of_perturbations.items():
            probes = self._probes(part, answers, self._operator(perturbation))
            yield from self._user_turns(dataset, cells, probes)

    def _probes(
        self, part: Part, answers: Mapping[str, str | None], operator: Mapping[str, Any]
    ) -> Iterator[tuple[int, str, Probe]]:
        for position, item in part.own:
            donor = part.donors.get(item.id)
            lent = None if donor is None else Donor(donor, answers.get(donor))
            probe = self.planner.probe(item, answers.get(item.id), operator, lent)
            yield position, item.id, probe

    def _user_turns(
        self, dataset: str, cells: list[Cell], probes: Iterator[tuple[int, str, Probe]]
    ) -> list[Plan]:
        """Write the plans of cells that differ only in temperature and so share their probes."""
        plans, draws, asked_as = [], [], self.grid.places.of_dataset(dataset)
        with ExitStack() as stack:
            for cell in cells:
                drawn = self.grid.user_turn_settings(self.grid.temperatures[cell.temperature])
                sampling = self.planner.sampling("user", drawn)
                identity = self.grid.cell_identity(cell)
                path = self._path(dataset, identity)
                plans.append(Plan(path, dataset, sampling))
                add = stack.enter_context(plan_writer(path, identity, self.planner.identity))
                samples = range(self.grid.n_samples(cell.temperature))
                draws += [(add, sampling, sample) for sample in samples]
            for position, item, probe in probes:
                for add, sampling, sample in draws:
                    add(self.planner.user_turn(asked_as, position, item, sample, probe, sampling))
        return plans
