"""The pending part of a grid: what its sweeps still have to ask, and the inputs of their jobs.

A table needs no sweep if its file carries the identity that the config asks for. Otherwise its
requests are looked up in the journals. If each has a reply under its plan's name, the table is
collected at once. Plans that are missing or have other names are made again without asking. A sweep
asks only requests without a reply, and makes lost plans of finished tables again, since further
requests may follow from these. Datasets that could not be prepared are not swept.

A model has a second sweep, after all first ones, for prompts made from other models' answers.
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
from userturn.config.job_resources import Resources
from userturn.datasets.fetch import is_unusable
from userturn.sources.registry import asked, asked_of, follows_others
from userturn.sources.source import ANSWERS, Asked
from userturn.storage.files import read_artifact, read_identity
from userturn.storage.hashing import fingerprint
from userturn.storage.leases import swept_now
from userturn.study.cells import dataset_files, description_files
from userturn.study.grid import Grid
from userturn.study.grid_elsewhere import asked_elsewhere, states
from userturn.study.model_description import present_description, request_identity
from userturn.study.sweep_notes import finished_identities, must_send, sweeps_folder

FORECAST = "userturn.generation.forecast.forecasts_as_json"  # reads tables


def _journals(grid: Grid, model: str) -> list[Path]:
    return sorted((grid.results / "journal" / grid.places.model_name(model)).glob("*/[!.]*.jsonl"))


def _state(grid: Grid, models: Collection[str]) -> list[Any]:
    """Return the state of all files on which a forecast depends besides the configuration."""
    datasets = {name: grid.dataset_identity(name) for name in grid.prepared_datasets}
    prepared = states(sorted((grid.results / "datasets").glob("[!.]*.parquet")))
    contents = [grid.contents.models[model] for model in models]
    journals = [states(_journals(grid, model)) for model in models]
    tables = asked(grid).values()
    requests = [grid.results / "requests" / grid.places.model_name(model) for model in models]
    plans = [states(sorted(folder.rglob("[!.]*.parquet"))) for folder in requests]
    paths = {path for of in tables if follows_others(grid, of) for path in of.after}
    answers = states([path for path in map(grid.at, sorted(paths)) if path.is_file()])
    return [datasets, prepared, contents, journals, plans, grid.contents.reactions, answers]


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression that matches some names, or nothing if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def _identities(tables: Iterable[Asked]) -> set[str]:
    return {of.identity for of in tables}


@dataclass(eq=False)
class Pending:
    """The pending part of a grid, for which files are read once."""

    grid: Grid

    @cached_property
    def unusable(self) -> set[str]:
        """The names of datasets whose present content could not be prepared."""
        names, identity = self.grid.prepared_datasets, self.grid.dataset_identity
        return {name for name in names if is_unusable(name, identity(name))}

    @cached_property
    def _usable(self) -> dict[str, list[Asked]]:
        """The tables of datasets that can be used, by model."""
        tables: dict[str, list[Asked]] = {model: [] for model in self.grid.models}
        for of in asked(self.grid).values():
            if of.dataset not in self.unusable:
                tables[of.model].append(of)
        return tables

    @cached_property
    def _second_sweep_identities(self) -> set[str]:
        """The identities of the tables that second sweeps (after other models') fill."""
        usable = (of for tables in self._usable.values() for of in tables)
        return _identities(of for of in usable if follows_others(self.grid, of))

    @cached_property
    def _absent(self) -> dict[str, list[Asked]]:
        """The tables that are missing, or whose identity is not the one asked for, by model."""
        return {
            model: [of for of in tables if read_identity(self.grid.at(of.path)) != of.identity]
            for model, tables in self._usable.items()
        }

    @cached_property
    def _planless(self) -> dict[str, list[Asked]]:
        """The tables that have no plan, by model."""
        folder = self.grid.requests_folder
        return {
            model: [of for of in tables if not folder(model, of.dataset, of.identity).is_dir()]
            for model, tables in self._usable.items()
        }

    @cached_property
    def forecasts(self) -> dict[str, Any]:
        """The forecast of what each model's sweep would ask, for models with a journal."""
        begun = {  # identities of absent tables, and of all on which these may depend
            model: [sorted(_identities(of)) for of in (absent, self._usable[model])]
            for model, absent in self._absent.items()
            if absent and _journals(self.grid, model)
        }
        state = _state(self.grid, begun) if begun else []
        answer = begun and asked_elsewhere(FORECAST, self.grid, {"pending": begun}, state)
        return answer or {}

    @cached_property
    def _lacking(self) -> dict[str, set[str]]:
        """The identities of absent tables with a request that has no reply, by model."""
        return {m: self._lacking_of(m) if absent else set() for m, absent in self._absent.items()}

    def _lacking_of(self, model: str) -> set[str]:
        """Return the identities of a model's absent tables with a request that has no reply.

        Journals of an earlier version do not say what was asked, but the notes of its sweeps do.
        """
        absent = _identities(self._absent[model])
        forecast = self.forecasts.get(model, {"missing": {}, "is_known": False})
        lacking = {identity for identity in absent if forecast["missing"].get(identity, 1)}
        is_old = lacking and not forecast["is_known"]
        vouched = finished_identities(self.grid, model) if is_old else set()
        again = absent & must_send(self.grid, model) | self._planned_otherwise(model)
        return lacking - vouched | again

    @cached_property
    def _outdated(self) -> set[str]:
        """The identities of plans made before an equal request had its reply, by another name."""
        return {one for forecast in self.forecasts.values() for one in forecast["outdated"]}

    def _planned_otherwise(self, model: str) -> set[str]:
        """Return the identities of absent tables planned under another description of the model.

        The description is part of their requests' keys, so these have changed.
        """
        try:
            identity = request_identity(self.grid, model, present_description(self.grid, model))
        except (OSError, ValueError, LookupError):
            return set()  # not described yet

        def is_planned_otherwise(of: Asked) -> bool:
            folder = self.grid.requests_folder(model, of.dataset, of.identity)
            plans = folder.glob("[!.]*.parquet")
            return any(read_artifact(path).get("model") != fingerprint(identity) for path in plans)

        return _identities(filter(is_planned_otherwise, self._absent[model]))

    @cached_property
    def tables(self) -> dict[str, Asked]:
        """The tables, by path, that wait for a sweep to ask for them or to plan them."""
        planless = {of.path for tables in self._planless.values() for of in tables}
        return {
            of.path: of
            for model, absent in self._absent.items()
            for of in absent
            if of.identity in self._lacking[model] | self._outdated or of.path in planless
        }

    def datasets(self, model: str, after_others: bool = False) -> list[str]:
        """Return the sorted names of the datasets that a model's sweep works on."""
        return sorted({of.dataset for of in self._to_plan(model, after_others)})

    def identities(self, model: str, after_others: bool = False) -> list[str]:
        """Return the sorted identities of all tables that a model's sweep works through.

        Each job of a cluster reads the workflow anew, and a marker holds these identities. Replies
        of an earlier attempt do not change them, but tables collected since are left out.
        """
        return sorted(_identities(self._to_plan(model, after_others)))

    def waiting(self, model: str) -> list[str]:
        """Return the sorted identities of a model's tables that wait for a sweep."""
        return sorted(_identities(of for of in self.tables.values() if of.model == model))

    def planless_identities(self, model: str, after_others: bool = False) -> set[str]:
        """Return the identities of a model's finished tables whose plans are lost."""
        planless = self._tables_of_sweep(self._planless[model], after_others)
        return _identities(planless) - _identities(self._absent[model])

    def lacks_plans_alone(self, model: str) -> bool:
        """Return whether a model's first sweep lacks plans, but no reply to a request."""
        lacks_requests = self._lacking[model] | must_send(self.grid, model)
        outdated = _identities(self._absent[model]) & self._outdated - self._second_sweep_identities
        planless = self._tables_of_sweep(self._planless[model], after_others=False)
        return bool(planless or outdated) and not lacks_requests - self._second_sweep_identities

    def _tables_of_sweep(self, tables: Iterable[Asked], after_others: bool) -> list[Asked]:
        """Return the tables that a model's first sweep (or its sweep after other models') fills."""
        later = self._second_sweep_identities
        return [of for of in tables if (of.identity in later) == after_others]

    def _to_plan(self, model: str, after_others: bool) -> list[Asked]:
        """Return the tables that a model's first sweep (or its sweep after others') has to plan."""
        absent = self._tables_of_sweep(self._absent[model], after_others)
        return absent and absent + self._tables_of_sweep(self._planless[model], after_others)


class GenerationGrid:
    """The sweeps of a grid, for rules/generation.smk.

    Tables of an unusable dataset wait for the prepared dataset instead of a sweep.
    """

    def __init__(self, grid: Grid, pending: Pending) -> None:
        """Take the grid of a checked configuration, and its pending part."""
        self.grid = grid
        self.pending = pending
        # Looked up before pending tables, since a sweep may finish in between.
        self.in_doubt = {m for m in grid.models if swept_now(grid.leases_folder(m))}
        self.resources = Resources(
            grid.models, "logs/sweep/{wildcards.model}/{wildcards.shard}.log"
        )

    @property
    def served(self) -> str:
        """The regular expression of the models that somebody else serves."""
        return any_of(name for name, entry in self.grid.models.items() if has_endpoint(entry))

    @property
    def planned_again(self) -> str:
        """The regular expression of the models that lost plans but no reply to a request."""
        return any_of(name for name in self.grid.models if self.pending.lacks_plans_alone(name))

    def markers(self, model: str, after_others: bool = False) -> list[str]:
        """Return the paths of the markers of a model's sweeps, one per shard."""
        folder = sweeps_folder(self.grid, model, after_others).relative_to(self.grid.results)
        return [f"results/{folder}/{shard}.json" for shard in self.grid.shards(model)]

    def every_marker(self, model: str) -> list[str]:
        """Return the paths of all markers of a model, those after other models' included."""
        is_later = any(follows_others(self.grid, of) for of in asked_of(self.grid, model))
        return self.markers(model) + (self.markers(model, True) if is_later else [])

    def datasets(self, model: str, shard: str) -> list[str]:
        """Return the paths of the prepared datasets that a model's sweep needs.

        Raises:
            KeyError: the study has no such model, or the model no such shard.
        """
        return self._datasets(model, shard, after_others=False)

    def _datasets(self, model: str, shard: str, after_others: bool) -> list[str]:
        if shard not in self.grid.shards(model):
            raise KeyError(shard)
        return dataset_files(self.pending.datasets(model, after_others))

    def second_sweep_inputs(self, model: str, shard: str) -> list[str]:
        """Return the paths that a model's sweep after other models' needs, or has to wait for.

        They are prepared datasets and other models' answers. Markers of the model's first sweeps
        are added if these have something to do, as only one job sweeps a model at a time.

        Raises:
            KeyError: the study has no such model, or the model no such shard.
        """
        items = self._datasets(model, shard, after_others=True)
        pending = set(self.pending.identities(model, after_others=True))
        tables = [of for of in asked_of(self.grid, model) if of.identity in pending]
        answers = sorted({path for of in tables for path in of.after})
        return [*items, *answers, *(self.markers(model) if self._waits(model, False) else [])]

    def _waits(self, model: str, after_others: bool) -> bool:
        """Return whether tables wait for a model's first sweeps (or its sweeps after others')."""
        tables = (of for of in self.pending.tables.values() if of.model == model)
        return any(follows_others(self.grid, of) == after_others for of in tables)

    def answered_first(self, model: str, shard: str) -> list[str]:
        """Return the markers of another model if its pending sweep asks for this model's answers.

        A model in another format that changes only user turns does not ask for answers again.
        """
        other = answers_as(self.grid.models, model)
        return self.markers(other) if other and self._waits(other, after_others=False) else []

    def to_finish(self, model: str, shard: str) -> list[str]:
        """Return the identities of the tables that a sweep has to finish."""
        return self._to_finish(model, shard, after_others=False)

    def to_finish_after_others(self, model: str, shard: str) -> list[str]:
        """Return the identities of the tables that a sweep after other models' has to finish."""
        return self._to_finish(model, shard, after_others=True)

    def _to_finish(self, model: str, shard: str, after_others: bool) -> list[str]:
        """Return the identities of the tables that a sweep has to finish.

        If none is pending, they are those in its marker, since Snakemake runs a job again whose
        parameters changed, and those of tables whose plans are lost.
        """
        marker = sweeps_folder(self.grid, model, after_others) / f"{shard}.json"
        try:
            done = set(map(str, json.loads(marker.read_text())["pending"]))
        except (OSError, ValueError, LookupError, TypeError):  # damaged
            done = set()
        planless = self.pending.planless_identities(model, after_others)
        return self.pending.identities(model, after_others) or sorted(done | planless)

    def void_markers(self) -> None:
        """Rename the markers of sweeps that have to be done again, so that they are out of the way.

        Snakemake would not see that their tables are lost, since such a sweep has the same
        parameters as before. A marker gets its name back if its sweep is no longer needed, such as
        after a damaged input was restored. Models that are being swept now are left alone.
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
        """Return the paths, such as markers of sweeps, for which the collection of tables waits.

        They are of one model and dataset. Answers of a renamed model wait for its description.
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
        """The names of models that were described under the present configuration."""
        grid = self.grid
        paths = zip(grid.models, description_files(grid.models), strict=True)
        return {n for n, p in paths if read_identity(grid.at(p)) == grid.model_fingerprint(n)}
