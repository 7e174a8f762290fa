"""The pending part of a grid: what its sweeps still have to ask, and what their jobs are told.

A table needs no sweep if its file carries the identity that the config asks for. Otherwise its
requests are looked for in the journals: if each has a reply and their plan is there, the table is
collected at once; if only plans are missing, they are made again without asking; only a request
without a reply makes a sweep ask. A sweep also makes lost plans of finished tables again, since
further requests may follow from these. Nothing of a dataset that could not be prepared is swept, so
that the others need not wait for it.

A model has a second sweep where its prompts are made of other models' answers (`after_others`): it
follows their first ones, and its own.
"""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from userturn.config.endpoint_models import has_endpoint
from userturn.config.formats import answers_as
from userturn.config.slurm_resources import Resources
from userturn.datasets.fetch import is_unusable
from userturn.sources.registry import asked, asked_of, follows_others
from userturn.sources.source import ANSWERS, Asked
from userturn.storage.files import read_artifact, read_identity
from userturn.storage.hashing import fingerprint
from userturn.storage.leases import swept_now
from userturn.study.cells import dataset_files, description_files
from userturn.study.finished_requests import finished_requests, must_send, sweeps_folder
from userturn.study.grid import Grid
from userturn.study.grid_elsewhere import asked_elsewhere, states
from userturn.study.model_description import present_description, request_identity

FORECAST = "userturn.generation.forecast.forecasts_as_json"  # reads tables


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
    answers = states([path for path in map(grid.at, sorted(paths)) if path.is_file()])
    return [datasets, prepared, contents, journals, grid.contents.reactions, answers]


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression of some names; of none, one that matches nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"


def _identities(tables: Iterable[Asked]) -> set[str]:
    return {of.identity for of in tables}


@dataclass(eq=False)
class Pending:
    """The pending part of a grid. Files are read once."""

    grid: Grid

    @cached_property
    def unusable(self) -> set[str]:
        """The datasets whose present content could not be prepared."""
        names, identity = self.grid.prepared_datasets, self.grid.dataset_identity
        return {name for name in names if is_unusable(name, identity(name))}

    @cached_property
    def _usable(self) -> dict[str, list[Asked]]:
        """By model, its tables of datasets that can be used."""
        found: dict[str, list[Asked]] = {model: [] for model in self.grid.models}
        for of in asked(self.grid).values():
            if of.dataset not in self.unusable:
                found[of.model].append(of)
        return found

    @cached_property
    def _after_others(self) -> set[str]:
        """The identities of the tables that a model's second sweep fills, after other models'."""
        usable = (of for tables in self._usable.values() for of in tables)
        return _identities(of for of in usable if follows_others(self.grid, of))

    @cached_property
    def _absent(self) -> dict[str, list[Asked]]:
        """By model, the tables that are not there as the configuration asks for them."""
        return {
            model: [of for of in tables if read_identity(self.grid.at(of.path)) != of.identity]
            for model, tables in self._usable.items()
        }

    @cached_property
    def _planless(self) -> dict[str, list[Asked]]:
        """By model, the tables that have no plan."""
        folder = self.grid.requests_folder
        return {
            model: [of for of in tables if not folder(model, of.dataset, of.identity).is_dir()]
            for model, tables in self._usable.items()
        }

    @cached_property
    def forecasts(self) -> dict[str, Any]:
        """What the sweep of each model that has a journal would ask, as `forecasts_as_json`."""
        begun = {  # identities of what is not there, and all on which these may depend
            model: [sorted(_identities(of)) for of in (absent, self._usable[model])]
            for model, absent in self._absent.items()
            if absent and _journals(self.grid, model)
        }
        state = _state(self.grid, begun) if begun else []
        found = begun and asked_elsewhere(FORECAST, self.grid, {"pending": begun}, state)
        return found or {}

    @cached_property
    def _lacking(self) -> dict[str, set[str]]:
        """By model, the identities of absent tables with a request that has no reply."""
        return {m: self._lacking_of(m) if absent else set() for m, absent in self._absent.items()}

    def _lacking_of(self, model: str) -> set[str]:
        """Return a model's identities with a request that has no reply.

        Journals of an earlier version do not say what was asked: notes of its sweeps vouch for it.
        """
        absent = _identities(self._absent[model])
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
        by = fingerprint(identity)

        def is_of_another(of: Asked) -> bool:
            folder = self.grid.requests_folder(model, of.dataset, of.identity)
            plans = folder.glob("[!.]*.parquet")
            return any(read_artifact(path).get("model") != by for path in plans)

        return _identities(filter(is_of_another, self._absent[model]))

    @cached_property
    def tables(self) -> dict[str, Asked]:
        """The tables that wait for a sweep, by path: it has to ask for them, or to plan them."""
        planless = {of.path for tables in self._planless.values() for of in tables}
        return {
            of.path: of
            for model, absent in self._absent.items()
            for of in absent
            if of.identity in self._lacking[model] or of.path in planless
        }

    def datasets(self, model: str, after_others: bool = False) -> list[str]:
        """Return the datasets that a model's sweep works on, sorted."""
        return sorted({of.dataset for of in self._to_plan(model, after_others)})

    def identities(self, model: str, after_others: bool = False) -> list[str]:
        """Return the sorted identities of everything that a sweep of a model works through.

        It is the same in every attempt of a sweep, whatever replies an earlier one left: each job
        of a cluster reads the workflow anew, and a marker holds what its sweep was asked.
        """
        return sorted(_identities(self._to_plan(model, after_others)))

    def waiting(self, model: str) -> list[str]:
        """Return the sorted identities of a model's tables that wait for a sweep."""
        return sorted(_identities(of for of in self.tables.values() if of.model == model))

    def without_plans(self, model: str, after_others: bool = False) -> set[str]:
        """Return the identities of what a model has finished and lost the plans of."""
        planless = self._in_sweep(self._planless[model], after_others)
        return _identities(planless) - _identities(self._absent[model])

    def lacks_plans_alone(self, model: str) -> bool:
        """Return whether a model's first sweep lacks plans, but no request of what it produces."""
        lacks_requests = self._lacking[model] | must_send(self.grid, model)
        planless = self._in_sweep(self._planless[model], after_others=False)
        return bool(planless) and not lacks_requests - self._after_others

    def _in_sweep(self, tables: Iterable[Asked], after_others: bool) -> list[Asked]:
        """Return those tables of a model that one of its two sweeps fills."""
        later = self._after_others
        return [of for of in tables if (of.identity in later) == after_others]

    def _to_plan(self, model: str, after_others: bool) -> list[Asked]:
        """Return all tables that one of a model's two sweeps has to plan."""
        absent = self._in_sweep(self._absent[model], after_others)
        return absent and absent + self._in_sweep(self._planless[model], after_others)


class GenerationGrid:
    """The sweeps of a grid, for rules/generation.smk.

    What is made of an unusable dataset waits for its items instead.
    """

    def __init__(self, grid: Grid, pending: Pending) -> None:
        """Take the grid of a checked configuration, and its pending part."""
        self.grid = grid
        self.pending = pending
        # Looked at before what is pending: what is swept meanwhile may be finished by then.
        self.in_doubt = {m for m in grid.models if swept_now(grid.leases_folder(m))}
        self.resources = Resources(
            grid.models, "logs/sweep/{wildcards.model}/{wildcards.shard}.log"
        )

    @property
    def served(self) -> str:
        """The regular expression of the models that somebody else serves, if any."""
        return any_of(name for name, entry in self.grid.models.items() if has_endpoint(entry))

    @property
    def planned_again(self) -> str:
        """The regular expression of the models that lost their plans and no request, if any."""
        return any_of(name for name in self.grid.models if self.pending.lacks_plans_alone(name))

    def markers(self, model: str, after_others: bool = False) -> list[str]:
        """Return the markers of a model's sweeps, one for each shard."""
        folder = sweeps_folder(self.grid, model, after_others).relative_to(self.grid.results)
        return [f"results/{folder}/{shard}.json" for shard in self.grid.shards(model)]

    def every_marker(self, model: str) -> list[str]:
        """Return the markers of a model's sweeps, those after other models' included."""
        is_later = any(follows_others(self.grid, of) for of in asked_of(self.grid, model))
        return self.markers(model) + (self.markers(model, True) if is_later else [])

    def datasets(self, model: str, shard: str) -> list[str]:
        """Return the prepared tables that a model's sweep needs.

        Raises:
            KeyError: the study has no such model, or the model no such shard.
        """
        return self._datasets(model, shard, after_others=False)

    def _datasets(self, model: str, shard: str, after_others: bool) -> list[str]:
        if shard not in self.grid.shards(model):
            raise KeyError(shard)
        return dataset_files(self.pending.datasets(model, after_others))

    def after_others(self, model: str, shard: str) -> list[str]:
        """Return what a model's sweep after other models' is made of, or has to wait for.

        These are prepared tables, others' answers, and the markers of its first sweeps if they have
        something to do, as only one job sweeps a model at a time.

        Raises:
            KeyError: the study has no such model, or the model no such shard.
        """
        items = self._datasets(model, shard, after_others=True)
        pending = set(self.pending.identities(model, after_others=True))
        tables = [of for of in asked_of(self.grid, model) if of.identity in pending]
        answers = sorted({path for of in tables for path in of.after})
        return [*items, *answers, *(self.markers(model) if self._waits(model, False) else [])]

    def _waits(self, model: str, after_others: bool) -> bool:
        """Return whether tables wait for a model's sweeps, first ones or those after others'."""
        tables = (of for of in self.pending.tables.values() if of.model == model)
        return any(follows_others(self.grid, of) == after_others for of in tables)

    def answered_first(self, model: str, shard: str) -> list[str]:
        """Return the markers of the sweep whose answers are also a model's, if it is still to come.

        A model in another format that changes user turns alone asks for no answer again.
        """
        other = answers_as(self.grid.models, model)
        return self.markers(other) if other and self._waits(other, after_others=False) else []

    def to_finish(self, model: str, shard: str) -> list[str]:
        """Return the identities that a sweep has to finish."""
        return self._to_finish(model, shard, after_others=False)

    def to_finish_after_others(self, model: str, shard: str) -> list[str]:
        """Return the identities that a sweep after other models' has to finish."""
        return self._to_finish(model, shard, after_others=True)

    def _to_finish(self, model: str, shard: str, after_others: bool) -> list[str]:
        """Return the identities that a sweep has to finish.

        If none is left, those that its marker has, since Snakemake runs a job again whose
        parameters differ from the last time, and those that lost their plans.
        """
        marker = sweeps_folder(self.grid, model, after_others) / f"{shard}.json"
        try:
            done = set(map(str, json.loads(marker.read_text())["pending"]))
        except (OSError, ValueError, LookupError, TypeError):  # damaged
            done = set()
        planless = self.pending.without_plans(model, after_others)
        return self.pending.identities(model, after_others) or sorted(done | planless)

    def void_markers(self) -> None:
        """Lay the markers of sweeps that have to be done again aside.

        What they noted is lost, and Snakemake would not see it: such a sweep is asked for just what
        it was asked for before. A marker comes back if its sweep was not done again and no more
        needs to be, since a damaged input is whole again. Who sweeps now may just be writing one.
        """
        certain = [model for model in self.grid.models if model not in self.in_doubt]
        for model, after_others in product(certain, (False, True)):
            is_pending = self._waits(model, after_others)
            for path in map(self.grid.at, self.markers(model, after_others)):
                aside = path.with_name(f".{path.name}")
                if path.exists() and is_pending:
                    path.replace(aside)
                elif path.exists():
                    aside.unlink(missing_ok=True)
                elif aside.exists() and not is_pending:
                    aside.replace(path)

    def waits_for(self, *paths: str) -> list[str]:
        """Return what the collection of tables waits for: sweeps, or nothing if they are finished.

        They are of one model and dataset. A model that has another name is described before its
        answers are collected, as the form of these is there.
        """
        tables = [asked(self.grid)[path] for path in paths]
        model, dataset = tables[0].model, tables[0].dataset
        if dataset in self.pending.unusable:
            return dataset_files([dataset])
        if any(path in self.pending.tables for path in paths):
            return self.markers(model, follows_others(self.grid, tables[0]))
        if model in self._described or tables[0].kind != ANSWERS:
            return []
        return description_files([model])

    @cached_property
    def _described(self) -> set[str]:
        """The models whose description is that of the present configuration."""
        grid = self.grid
        paths = zip(grid.models, description_files(grid.models), strict=True)
        return {n for n, p in paths if read_identity(grid.at(p)) == grid.model_fingerprint(n)}
