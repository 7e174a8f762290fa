"""Inputs and params of rules/generation.smk: the sweeps, and which of them a file waits for."""

import json
from functools import cached_property
from itertools import product
from pathlib import Path

from userturn.config.endpoint_models import has_endpoint
from userturn.config.formats import answers_as
from userturn.config.slurm_resources import Resources
from userturn.sources.registry import asked, asked_of, follows_others
from userturn.sources.source import ANSWERS
from userturn.storage.files import read_identity
from userturn.study.finished_requests import sweeps_folder
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending
from userturn.workflow.wildcards import any_of


def _items(dataset: str) -> str:
    """Return the prepared table of a dataset."""
    return f"results/datasets/{dataset}.parquet"


class GenerationGrid:
    """The sweeps of a grid. What is made of an unusable dataset waits for its items instead."""

    def __init__(self, grid: Grid, pending: Pending) -> None:
        """Take the grid of a checked configuration, and its pending part."""
        self.grid = grid
        self.pending = pending
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

    @cached_property
    def _described(self) -> set[str]:
        """The models whose description is that of the present configuration."""
        grid = self.grid
        paths = {name: grid.results / "models" / f"{name}.json" for name in grid.models}
        return {n for n, p in paths.items() if read_identity(p) == grid.model_fingerprint(n)}

    def datasets(self, model: str, shard: str) -> list[str]:
        """Return the prepared tables that a model's sweep needs.

        Raises:
            KeyError: the study has no such model, or the model no such shard.
        """
        if shard not in self.grid.shards(model):
            raise KeyError(shard)
        return [_items(name) for name in self.pending.datasets(model)]

    def after_others(self, model: str, shard: str) -> list[str]:
        """Return what a model's sweep after other models' is made of, or has to wait for.

        These are prepared tables, others' answers, and the markers of its first sweeps if they have
        something to do, as only one job sweeps a model at a time.

        Raises:
            KeyError: the study has no such model, or the model no such shard.
        """
        if shard not in self.grid.shards(model):
            raise KeyError(shard)
        pending = set(self.pending.identities(model, after_others=True))
        tables = [of for of in asked_of(self.grid, model) if of.identity in pending]
        answers = sorted({path for of in tables for path in of.after})
        items = [_items(name) for name in self.pending.datasets(model, after_others=True)]
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
        needs to be, since a damaged input is whole again.
        """
        for model, after_others in product(self.grid.models, (False, True)):
            is_pending = self._waits(model, after_others)
            for marker in map(Path, self.markers(model, after_others)):
                path = self.grid.results / marker.relative_to("results")
                aside = path.with_name(f".{path.name}")
                if path.exists() and is_pending:
                    path.replace(aside)
                elif path.exists():
                    aside.unlink(missing_ok=True)
                elif aside.exists() and not is_pending:
                    aside.replace(path)

    def waits_for(self, *paths: str) -> list[str]:
        """Return what the collection of tables waits for: sweeps, or nothing if they are finished.

        A model that has another name is described before its answers are collected, as the form of
        these is there.

        Args:
            paths: of tables of one model and dataset, from `results/` on.
        """
        tables = [asked(self.grid)[path] for path in paths]
        model, dataset = tables[0].model, tables[0].dataset
        if dataset in self.pending.unusable:
            return [_items(dataset)]
        if any(path in self.pending.tables for path in paths):
            return self.markers(model, follows_others(self.grid, tables[0]))
        if model in self._described or tables[0].kind != ANSWERS:
            return []
        return [f"results/models/{model}.json"]
