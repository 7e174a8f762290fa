"""The pending part of a grid: what a sweep still has to ask.

A table needs no sweep if its file carries the identity that the config asks for. Otherwise its
requests are looked for in the journals: if each has a reply and their plan is there, the table is
collected at once; if only plans are missing, they are made again without asking; only a request
without a reply makes a sweep ask. A sweep also makes lost plans of finished tables again, since
further requests may follow from these. Nothing of a dataset that could not be prepared is swept, so
that the others need not wait for it.

A model has a second sweep where its prompts are made of other models' answers (`after_others`): it
follows their first ones, and its own.
"""

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from userturn.datasets.fetch import is_unusable
from userturn.sources.registry import asked, follows_others
from userturn.sources.source import Asked
from userturn.storage.files import read_artifact, read_identity
from userturn.storage.hashing import fingerprint
from userturn.study.finished_requests import finished_requests, must_send
from userturn.study.grid import Grid
from userturn.study.grid_elsewhere import asked_elsewhere, states
from userturn.study.model_description import present_description, request_identity

FORECAST = "userturn.generation.forecast.forecasts_as_json"  # reads tables
Forecasts = dict[str, dict[str, Any]]  # by model, a `generation.forecast.Forecast` as JSON


def missing_requests(
    grid: Grid, pending: Mapping[str, Collection[str]], every: Mapping[str, Collection[str]]
) -> Forecasts:
    """Return what a sweep of each model that has a journal would ask; nothing of the others.

    Args:
        grid: the study's grid.
        pending: by model, the identities of answers, cells and scores that are not there.
        every: by model, all identities, on which those may depend.
    """
    begun = {
        model: [sorted(pending[model]), sorted(every[model])]
        for model in pending
        if _journals(grid, model)
    }
    if not begun:
        return {}
    given = {"pending": begun}
    found = asked_elsewhere(FORECAST, grid, given, _state(grid, begun))
    return found or {}


def _journals(grid: Grid, model: str) -> list[Path]:
    folder = grid.results / "journal" / grid.places.of_model(model)
    return sorted(folder.glob("*/[!.]*.jsonl"))


def _state(grid: Grid, models: Collection[str]) -> list[Any]:
    """Return what a forecast depends on, but for the configuration."""
    datasets = {name: grid.dataset_identity(name) for name in grid.prepared_datasets}
    prepared = states(sorted((grid.results / "datasets").glob("[!.]*.parquet")))
    contents = [grid.contents.models[model] for model in models]
    journals = [states(_journals(grid, model)) for model in models]
    tables = asked(grid).values()
    paths = {path for of in tables if follows_others(grid, of) for path in of.after}
    others = map(grid.at, sorted(paths))
    answers = states([path for path in others if path.is_file()])
    return [datasets, prepared, contents, journals, grid.contents.reactions, answers]


class Pending:
    """The pending part of a grid. Files are read once."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    @cached_property
    def unusable(self) -> set[str]:
        """The datasets whose present content could not be prepared."""
        names, identity = self.grid.prepared_datasets, self.grid.dataset_identity
        return {name for name in names if is_unusable(name, identity(name))}

    @cached_property
    def _usable(self) -> list[Asked]:
        """Every table of datasets that can be used."""
        return [of for of in asked(self.grid).values() if of.dataset not in self.unusable]

    @cached_property
    def _after_others(self) -> set[str]:
        """The identities of the tables that a model's second sweep fills, after other models'."""
        return {of.identity for of in self._usable if follows_others(self.grid, of)}

    @cached_property
    def _absent(self) -> dict[str, list[Asked]]:
        """By model, the tables that are not there as the configuration asks for them."""
        found: dict[str, list[Asked]] = {model: [] for model in self.grid.models}
        for of in self._usable:
            path = self.grid.at(of.path)
            if read_identity(path) != of.identity:
                found[of.model].append(of)
        return found

    @cached_property
    def _planless(self) -> dict[str, set[tuple[str, str]]]:
        """By model, identity and dataset of the tables that have no plan."""
        found: dict[str, set[tuple[str, str]]] = {model: set() for model in self.grid.models}
        for of in self._usable:
            if not self.grid.requests_folder(of.model, of.dataset, of.identity).is_dir():
                found[of.model].add((of.identity, of.dataset))
        return found

    @cached_property
    def forecasts(self) -> Forecasts:
        """What the sweeps of models that have a journal would ask, by model."""
        absent = {m: {of.identity for of in tables} for m, tables in self._absent.items() if tables}
        every = {m: {of.identity for of in self._usable if of.model == m} for m in absent}
        return missing_requests(self.grid, absent, every)

    @cached_property
    def _lacking(self) -> dict[str, set[str]]:
        """By model, the identities of absent tables with a request that has no reply."""
        return {
            model: self._lacking_of(model) if self._absent[model] else set()
            for model in self._absent
        }

    def _lacking_of(self, model: str) -> set[str]:
        """Return a model's identities with a request that has no reply.

        Journals of an earlier version do not say what was asked: notes of its sweeps vouch for it.
        """
        absent = {of.identity for of in self._absent[model]}
        forecast = self.forecasts.get(model, {"missing": {}, "is_known": False})
        lacking = {identity for identity in absent if forecast["missing"].get(identity, 1)}
        is_old = lacking and not forecast["is_known"]
        vouched = finished_requests(self.grid, model) if is_old else set()
        return lacking - vouched | absent & must_send(self.grid, model) | self._of_another(model)

    def _of_another(self, model: str) -> set[str]:
        """Return a model's identities of absent tables that were planned under another description.

        Their requests have other keys, since what describes the model is part of these.
        """
        try:
            identity = request_identity(self.grid, model, present_description(self.grid, model))
        except (OSError, ValueError, LookupError):
            return set()  # not described yet
        by, found = fingerprint(identity), set()
        for of in self._absent[model]:
            folder = self.grid.requests_folder(model, of.dataset, of.identity)
            plans = (read_artifact(path).get("model") for path in folder.glob("[!.]*.parquet"))
            if any(other != by for other in plans):
                found.add(of.identity)
        return found

    @cached_property
    def tables(self) -> dict[str, Asked]:
        """The tables that wait for a sweep, by path: it has to ask for them, or to plan them."""
        return {
            of.path: of
            for model, absent in self._absent.items()
            for of in absent
            if of.identity in self._lacking[model]
            or (of.identity, of.dataset) in self._planless[model]
        }

    def datasets(self, model: str, after_others: bool = False) -> list[str]:
        """Return the datasets that a model's sweep works on, sorted."""
        return sorted({dataset for _, dataset in self._to_plan(model, after_others)})

    def identities(self, model: str, after_others: bool = False) -> list[str]:
        """Return the sorted identities of everything that a sweep of a model works through.

        It is the same in every attempt of a sweep, whatever replies an earlier one left: each job
        of a cluster reads the workflow anew, and a marker holds what its sweep was asked.
        """
        return sorted({identity for identity, _ in self._to_plan(model, after_others)})

    def waiting(self, model: str) -> list[str]:
        """Return the sorted identities of a model's tables that wait for a sweep."""
        return sorted({of.identity for of in self.tables.values() if of.model == model})

    def without_plans(self, model: str, after_others: bool = False) -> set[str]:
        """Return the identities of what a model has finished and lost the plans of."""
        absent = {of.identity for of in self._absent[model]}
        return {identity for identity, _ in self._planless_in(model, after_others)} - absent

    def lacks_plans_alone(self, model: str) -> bool:
        """Return whether a model's first sweep lacks plans, but no request of what it produces."""
        lacks_requests = self._lacking[model] | must_send(self.grid, model)
        return bool(self._planless_in(model, False)) and not lacks_requests - self._after_others

    def _planless_in(self, model: str, after_others: bool) -> set[tuple[str, str]]:
        """Return identity and dataset of what one of a model's two sweeps has no plan of."""
        later = self._after_others
        return {one for one in self._planless[model] if (one[0] in later) == after_others}

    def _to_plan(self, model: str, after_others: bool) -> set[tuple[str, str]]:
        """Return identity and dataset of all that one of a model's two sweeps has to plan."""
        later, all_absent = self._after_others, self._absent[model]
        absent = {(of.identity, of.dataset) for of in all_absent
                  if (of.identity in later) == after_others}  # fmt: skip
        return absent | self._planless_in(model, after_others) if absent else absent
