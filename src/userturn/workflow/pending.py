"""The pending part of a grid: what a sweep still has to ask.

A table needs no sweep if its file carries the identity that the config asks for, or if a note says
that its requests have all finished and their plan is there. A sweep also makes lost plans of
finished tables again, since further requests may follow from these. With a smaller `max_model_len`
a sweep would ask nothing that it did not ask before: it only plans. Nothing of a dataset that could
not be prepared is swept, so that the others need not wait for it.
"""

from collections import defaultdict
from functools import cached_property

from userturn.config.formats import model_of
from userturn.datasets.unusable import is_unusable
from userturn.sources.registry import asked
from userturn.sources.source import Asked
from userturn.storage.atomic_files import read_identity
from userturn.study.finished_requests import finished_requests, noted_lengths
from userturn.study.grid import Grid


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

    def _needs_sweep(self, of: Asked) -> bool:
        if of.dataset in self.unusable:
            return False
        path = self.grid.results / of.path.removeprefix("results/")
        is_there = read_identity(path) == of.identity
        if not self.grid.requests_folder(of.model, of.dataset, of.identity).is_dir():
            if is_there:
                self._planless[of.model].add((of.identity, of.dataset))
            return not is_there
        return not is_there and of.identity not in self._finished(of.model)

    def _finished(self, model: str) -> set[str]:
        """Return what notes of sweeps vouch for; read once, and only if a file is not there."""
        if model not in self._notes:
            self._notes[model] = finished_requests(self.grid, model)
        return self._notes[model]

    @cached_property
    def tables(self) -> dict[str, Asked]:
        """The tables that a sweep has to ask for, by path."""
        return {path: of for path, of in asked(self.grid).items() if self._needs_sweep(of)}

    def _of_model(self, model: str) -> list[Asked]:
        return [of for of in self.tables.values() if of.model == model]

    def datasets(self, model: str) -> list[str]:
        """Return the datasets that a model's sweep works on, sorted."""
        return sorted({dataset for _, dataset in self._to_plan(model)})

    def identities(self, model: str) -> list[str]:
        """Return the sorted identities of everything that a model's sweep has to produce."""
        return sorted({identity for identity, _ in self._to_plan(model)})

    def without_plans(self, model: str) -> set[str]:
        """Return the identities of what a model has finished and lost the plans of."""
        self._of_model(model)  # looks at each file once
        return {identity for identity, _ in self._planless[model]}

    def lacks_plans_alone(self, model: str) -> bool:
        """Return whether a model lacks plans, but no request of what has to be produced."""
        pending = {of.identity for of in self._of_model(model)}
        lost = {identity for identity, _ in self._planless[model]}
        if not pending | lost or not lost <= self._finished(model):
            return False
        return pending <= self._finished(model) or self._had_more_room(model)

    def _had_more_room(self, model: str) -> bool:
        """Return whether all that is to be asked was finished under a larger `max_model_len`."""
        room = self.grid.models[model]["max_model_len"]
        longer = sorted(length for length in noted_lengths(self.grid, model) if length > room)
        return any(self._finished_under(model, length) for length in longer)

    def _finished_under(self, model: str, length: int) -> bool:
        grid = _with_length(self.grid, model, length)
        pending = {asked(grid)[of.path].identity for of in self._of_model(model)}
        return pending <= finished_requests(grid, model)

    def _to_plan(self, model: str) -> set[tuple[str, str]]:
        """Return identity and dataset of all that a model's sweep has to plan, if it has to ask."""
        pending = {(of.identity, of.dataset) for of in self._of_model(model)}
        return pending | self._planless[model] if pending else pending


def _with_length(grid: Grid, model: str, length: int) -> Grid:
    """Return the same grid, in which a model has another `max_model_len`."""
    models, name = grid.config["models"], model_of(model)
    given = models[name] if isinstance(models[name], dict) else {"source": models[name]}
    changed = {**models, name: {**given, "max_model_len": length}}
    return Grid({**grid.config, "models": changed}, grid.results)
