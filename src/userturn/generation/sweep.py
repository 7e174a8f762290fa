"""A sweep: load one model once and work through all its pending requests.

Answers come first, then the user turns of every dataset, temperature and perturbation, then what is
made of these, and the scores of existing turns last. A request that a journal has is not sent
again. If no request is missing, no model is loaded.
"""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import polars as pl

from userturn.config.formats import answers_as
from userturn.datasets.prepare import read_items
from userturn.generation.ask_engine import RequestRunner, Runner
from userturn.generation.load_model import LoadedModel, engine_of, load_model
from userturn.generation.other_names import Name, OtherNames
from userturn.generation.plan_files import plan_path
from userturn.generation.scorer import Scorer
from userturn.generation.sweep_plan import SweepPlans, planner_of
from userturn.processes import StopFlag
from userturn.sources.registry import asked_of
from userturn.storage.files import note_written, read_artifact, write_json
from userturn.storage.hashing import fingerprint
from userturn.storage.journal import files_of_journal
from userturn.storage.journal_table import finished_keys
from userturn.storage.leases import lease
from userturn.study.asks import digest_of, journal_of
from userturn.study.grid import Grid
from userturn.study.model_description import read_description, request_identity
from userturn.study.sweep_notes import (
    LostRecordsError,
    finished_identities,
    note_finished,
    note_unsent,
    swept_again_if_lost,
)


def finished_plans(
    grid: Grid,
    model: str,
    shard: str,
    pending: Collection[str],
    identity_of_requests: Mapping[str, Any],
) -> dict[str, dict[str, set[str]]]:
    """Return the keys of a shard's finished plans, by dataset and identity.

    A row without a request keeps a plan open, because a prompt may now exist for it.
    """
    by = fingerprint(identity_of_requests)
    planned: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for of in asked_of(grid, model, pending):
        path = plan_path(grid, model, of.dataset, of.identity, shard)
        if read_artifact(path).get("model") == by:  # or it is missing, or another model's
            keys = pl.read_parquet(path, columns=["key"])["key"]
            if not keys.has_nulls():
                planned[of.dataset][of.identity] = set(keys)
    finished = {}
    for dataset, plans in planned.items():
        paths = [plan_path(grid, model, dataset, identity, shard) for identity in plans]
        all_keys = pl.Series(sorted(set().union(*plans.values())), dtype=pl.String)
        there = finished_keys(journal_of(grid, model, dataset, paths), all_keys)
        finished[dataset] = {identity: keys for identity, keys in plans.items() if keys <= there}
    return finished


def n_finished(
    grid: Grid, model: str, pending: Collection[str], finished: Mapping[str, Mapping[str, set[str]]]
) -> int | None:
    """Return the number of a shard's requests if everything pending is finished, else None."""
    done = {(dataset, identity) for dataset, plans in finished.items() for identity in plans}
    if {(of.dataset, of.identity) for of in asked_of(grid, model, pending)} - done:
        return None
    return sum(len(set().union(*plans.values())) for plans in finished.values())


def run_sweep(
    grid: Grid,
    model: str,
    shard: str,
    pending: Iterable[str],
    n_threads: int,
    path_to_marker: str | Path,
    may_ask: bool = True,
    after_others: bool = False,
) -> None:
    """Journal the reply to every request of a shard's pending tables, then write the marker.

    `pending` has the tables' identities. If prompts are made of other models' answers, a second
    sweep of the model follows theirs (`after_others`).

    Raises:
        UserError: the model cannot be loaded, another job sweeps it, or the sweep was ended by a
            signal or lost its lease.
        LostRecordsError: a reply is missing, and `may_ask` is False.
    """
    os.environ["OMP_NUM_THREADS"] = str(n_threads)  # read when PyTorch is imported, which is later
    stop = StopFlag()
    # Nothing is pending in a job that is requeued after its end: its marker is then as it was.
    identities = sorted(pending) or sorted(finished_identities(grid, model))
    with lease(grid.leases_folder(model), shard, stop.set), swept_again_if_lost(grid, model):
        stop.listen()
        description = read_description(grid, model)
        identity = request_identity(grid, model, description)
        finished = finished_plans(grid, model, shard, identities, identity)
        n_replied, n_asked = n_finished(grid, model, identities, finished), 0
        if n_replied is None:
            loaded = load_model(grid, model, description)
            runner = request_runner(grid, loaded, shard, stop, may_ask)
            with TemporaryDirectory() as scratch:
                plans = sweep_plans(grid, loaded, shard, identities, scratch)
                try:
                    complete_plans(plans, runner)
                except LostRecordsError:
                    note_unsent(grid, model, identities, after_others)
                    raise
            n_replied, n_asked = runner.n_in_journal, runner.n_asked
            finished = finished_plans(grid, model, shard, identities, identity)
        note_finished(grid, model, shard, finished, fingerprint(identity), after_others)
        if may_ask:
            note_unsent(grid, model, (), after_others)
        _note_earlier(grid, model, shard)
        marker = {"pending": identities, "n_found": n_replied, "n_asked": n_asked}
        write_json(marker, path_to_marker, fingerprint(identities))


def _note_earlier(grid: Grid, model: str, shard: str) -> None:
    """Note the journals and plans under a model's earlier name as written by this sweep."""
    for dataset in grid.prepared_datasets:
        if grid.places.pair_folder(model, dataset) != f"{model}/{dataset}":
            journal = grid.journal_folder(model, dataset)
            plans = grid.requests_folder(model, dataset, "").rglob(f"{shard}.parquet")
            for path in (*files_of_journal(journal), *plans):
                note_written(path)


def request_runner(
    grid: Grid, model: LoadedModel, shard: str, stop: StopFlag, may_ask: bool = True
) -> RequestRunner:
    """Return the runner that sends a model's requests to its engine and journals the replies."""
    other = answers_as(grid.models, model.name)
    return RequestRunner(
        model.name,
        model.template,
        lambda dataset: grid.journal_folder(model.name, dataset),
        partial(engine_of, grid, model, shard) if may_ask else _refuse,
        stop,
        OtherNames(model.identity, grid.config["seed"], present_items(grid)),
        None if other is None else partial(grid.journal_folder, other),
    )


def present_items(grid: Grid) -> dict[Name, str]:
    """Return the hash of each item's messages, by the names that the item is asked under."""
    return {
        (grid.places.dataset_name(name), item.id): digest_of(item.messages)
        for name in grid.prepared_datasets
        if grid.dataset_path(name).is_file()
        for item in read_items(grid.dataset_path(name))
    }


def _refuse() -> NoReturn:
    raise LostRecordsError(
        "some requests that were thought to have a reply have no record in the journal; "
        "run the same command again, the sweep will send them"
    )


def sweep_plans(
    grid: Grid, model: LoadedModel, shard: str, pending: Iterable[str], scratch: str
) -> SweepPlans:
    """Return the plans of one shard's pending tables, not yet written."""
    planner, identities = planner_of(grid, model), frozenset(pending)
    scorer = Scorer(model.identity, model.template, model.max_model_len, "", planner.asks)
    answer_layout = model.template.answer_layout
    return SweepPlans(
        grid, model.name, shard, identities, planner, scorer, answer_layout, Path(scratch)
    )


def complete_plans(plans: SweepPlans, runner: Runner) -> None:
    """Plan and complete all pending tables, each stage after those that it depends on."""
    for name, tables in plans.stages():
        runner.complete(name, list(plans.plans(tables)))
