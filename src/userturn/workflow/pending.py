"""The pending part of a grid: what a sweep still has to ask.

A cell needs no sweep if its file carries the identity that the config asks for, or if a note says
that its requests have all finished; in both cases the plan of its requests must be there. Nothing
of a dataset that could not be prepared is swept, so that the others need not wait for it.
"""

from functools import cached_property
from pathlib import Path

from userturn.datasets.unusable import is_unusable
from userturn.storage.atomic_files import read_identity
from userturn.study.candidates import CandidateTable, candidate_tables, candidates_identity
from userturn.study.cells import Cell
from userturn.study.finished_requests import finished_requests
from userturn.study.grid import Grid
from userturn.study.scored_turns import ScoredTurns, scored_turns, scores_identity
from userturn.study.self_play import FILES, Depth, depth_identity, depths


class Pending:
    """The pending part of a grid. Files are read once."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid
        self._notes: dict[str, set[str]] = {}

    @cached_property
    def unusable(self) -> set[str]:
        """The datasets whose present content could not be prepared."""
        names, identity = self.grid.prepared_datasets, self.grid.dataset_identity
        return {name for name in names if is_unusable(name, identity(name))}

    def _needs_sweep(self, path: Path, model: str, dataset: str, identity: str) -> bool:
        if dataset in self.unusable:
            return False
        if not self.grid.requests_folder(model, dataset, identity).is_dir():
            return True
        return read_identity(path) != identity and identity not in self._finished(model)

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
        of_cells = {cell.dataset for cell in self.cells[model]}
        of_scores = {scored.dataset for scored in self.scores if scored.model == model}
        of_depths = {at.dataset for at in self.depths if at.model == model}
        of_candidates = {wanted.dataset for wanted in self.candidates if wanted.model == model}
        of_cells |= of_scores | of_depths | of_candidates
        return sorted(of_cells | set(self.answers[model]))

    def identities(self, model: str) -> list[str]:
        """Return the sorted identities of everything that a model's sweep has to produce."""
        answers = [self.grid.answers_identity(model, name) for name in self.answers[model]]
        cells = [self.grid.cell_identity(cell) for cell in self.cells[model]]
        mine = [scored for scored in self.scores if scored.model == model]
        scores = [scores_identity(self.grid, scored) for scored in mine]
        played = [at for at in self.depths if at.model == model]
        depths = [depth_identity(self.grid, at, what) for at in played for what in FILES]
        candidates = [
            candidates_identity(self.grid, t) for t in self.candidates if t.model == model
        ]
        return sorted(answers + cells + depths + candidates + scores)
