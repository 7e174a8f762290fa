"""The pending part of a grid: what a sweep still has to ask.

A cell needs no sweep if its file carries the identity that the config asks for, or if a note says
that its requests have all finished and their plan is there. A sweep also makes lost plans of
finished cells again, since further requests may follow from these. With a smaller `max_model_len` a
sweep would ask nothing that it did not ask before: it only plans. Nothing of a dataset that could
not be prepared is swept, so that the others need not wait for it.
"""

from collections import defaultdict
from functools import cached_property
from pathlib import Path

from userturn.config.formats import model_of
from userturn.datasets.unusable import is_unusable
from userturn.storage.atomic_files import read_identity
from userturn.study.candidates import CandidateTable, candidate_tables, candidates_identity
from userturn.study.cells import Cell
from userturn.study.finished_requests import finished_requests, noted_lengths
from userturn.study.grid import Grid
from userturn.study.scored_turns import ScoredTurns, scored_turns, scores_identity
from userturn.study.self_play import FILES, Depth, depth_identity, depths


class Pending:
    """The pending part of a grid. Files are read once."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid
        self._notes: dict[str, set[str]] = {}
        self._planless: dict[str, set[tuple[str, str]]] = defaultdict(set)

    @cached_property
    def unusable(self) -> set[str]:
        """The datasets whose present content could not be prepared."""
        names, identity = self.grid.prepared_datasets, self.grid.dataset_identity
        return {name for name in names if is_unusable(name, identity(name))}

    def _needs_sweep(self, path: Path, model: str, dataset: str, identity: str) -> bool:
        if dataset in self.unusable:
            return False
        is_there = read_identity(path) == identity
        if not self.grid.requests_folder(model, dataset, identity).is_dir():
            if is_there:
                self._planless[model].add((identity, dataset))
            return not is_there
        return not is_there and identity not in self._finished(model)

    def _finished(self, model: str) -> set[str]:
        """Return what notes of sweeps vouch for; read once, and only if a file is not there."""
        if model not in self._notes:
            self._notes[model] = finished_requests(self.grid, model)
        return self._notes[model]

    @cached_property
    def answers(self) -> dict[str, list[str]]:
        """The datasets, for each model, whose answers a sweep has to ask for."""
        return {
            model: [
                dataset
                for dataset in self.grid.datasets
                if self._needs_sweep(
                    self.grid.results / "answers" / model / f"{dataset}.parquet",
                    model,
                    dataset,
                    self.grid.answers_identity(model, dataset),
                )
            ]
            for model in self.grid.models
        }

    @cached_property
    def cells(self) -> dict[str, list[Cell]]:
        """The cells, for each model, whose user turns a sweep has to ask for."""
        pending: dict[str, list[Cell]] = {model: [] for model in self.grid.models}
        for cell in self.grid.cells:
            path = self.grid.results / "cells" / cell.folder / "user_turns.parquet"
            identity = self.grid.cell_identity(cell)
            if self._needs_sweep(path, cell.model, cell.dataset, identity):
                pending[cell.model].append(cell)
        return pending

    @cached_property
    def depths(self) -> list[Depth]:
        """The depths of self-play that a sweep has to ask for."""
        return [
            at
            for at in depths(self.grid)
            if any(
                self._needs_sweep(
                    self.grid.results / at.folder / name,
                    at.model,
                    at.dataset,
                    depth_identity(self.grid, at, what),
                )
                for what, name in FILES.items()
            )
        ]

    @cached_property
    def scores(self) -> list[ScoredTurns]:
        """Tables of scores that a sweep has to ask for."""
        return [
            scored
            for scored in scored_turns(self.grid)
            if self._needs_sweep(
                self.grid.results / "likelihood" / scored.file,
                scored.model,
                scored.dataset,
                scores_identity(self.grid, scored),
            )
        ]

    @cached_property
    def candidates(self) -> list[CandidateTable]:
        """Tables of candidates that a sweep has to ask for."""
        return [
            wanted
            for wanted in candidate_tables(self.grid)
            if self._needs_sweep(
                self.grid.results / "candidates" / wanted.file,
                wanted.model,
                wanted.dataset,
                candidates_identity(self.grid, wanted),
            )
        ]

    def datasets(self, model: str) -> list[str]:
        """Return the datasets that a model's sweep works on, sorted."""
        return sorted({dataset for _, dataset in self._to_plan(model)})

    def identities(self, model: str) -> list[str]:
        """Return the sorted identities of everything that a model's sweep has to produce."""
        return sorted({identity for identity, _ in self._to_plan(model)})

    def without_plans(self, model: str) -> set[str]:
        """Return the identities of what a model has finished and lost the plans of."""
        self._to_ask(model)  # looks at each file once
        return {identity for identity, _ in self._planless[model]}

    def lacks_plans_alone(self, model: str) -> bool:
        """Return whether a model lacks plans, but no request of what has to be produced."""
        asked = {identity for identity, _ in self._to_ask(model)}
        lost = {identity for identity, _ in self._planless[model]}
        if not asked | lost or not lost <= self._finished(model):
            return False
        return asked <= self._finished(model) or self._had_more_room(model)

    def _had_more_room(self, model: str) -> bool:
        """Return whether all that is to be asked was finished under a larger `max_model_len`."""
        room = self.grid.models[model]["max_model_len"]
        longer = sorted(length for length in noted_lengths(self.grid, model) if length > room)
        return any(self._finished_under(model, length) for length in longer)

    def _finished_under(self, model: str, length: int) -> bool:
        grid = _with_length(self.grid, model, length)
        asked = {identity for identity, _ in self._identities(grid, model)}
        return asked <= finished_requests(grid, model)

    def _to_plan(self, model: str) -> set[tuple[str, str]]:
        """Return identity and dataset of all that a model's sweep has to plan, if it has to ask."""
        asked = self._to_ask(model)
        return asked | self._planless[model] if asked else asked

    def _to_ask(self, model: str) -> set[tuple[str, str]]:
        """Return identity and dataset of all that a model's sweep has to ask for."""
        return self._identities(self.grid, model)

    def _identities(self, grid: Grid, model: str) -> set[tuple[str, str]]:
        """Return identity, in a grid, and dataset of all that a model's sweep has to ask for."""
        pairs = {(grid.answers_identity(model, name), name) for name in self.answers[model]}
        pairs |= {(grid.cell_identity(cell), cell.dataset) for cell in self.cells[model]}
        played = [at for at in self.depths if at.model == model]
        pairs |= {(depth_identity(grid, at, what), at.dataset) for at in played for what in FILES}
        tables = [table for table in self.candidates if table.model == model]
        pairs |= {(candidates_identity(grid, table), table.dataset) for table in tables}
        scores = [scored for scored in self.scores if scored.model == model]
        return pairs | {(scores_identity(grid, scored), scored.dataset) for scored in scores}


def _with_length(grid: Grid, model: str, length: int) -> Grid:
    """Return the same grid, in which a model has another `max_model_len`."""
    models, name = grid.config["models"], model_of(model)
    given = models[name] if isinstance(models[name], dict) else {"source": models[name]}
    changed = {**models, name: {**given, "max_model_len": length}}
    return Grid({**grid.config, "models": changed}, grid.results)
