"""Check from plans and journals alone whether a sweep has any request left.

A sweep that was killed after its last request, or whose cell was deleted, then ends within a
second: no tokenizer is loaded and nothing is planned again.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from userturn.generation.plan_files import plan_path
from userturn.sources.registry import asked_of
from userturn.storage.atomic_files import read_artifact
from userturn.storage.hashing import fingerprint
from userturn.storage.journal_table import Journal, finished_keys
from userturn.study.grid import Grid
from userturn.study.replies import journal_of


def _planned_keys(path: Path, by: str) -> set[str] | None:
    """Return the keys of a plan; None if it is missing, incomplete or another model's."""
    if read_artifact(path).get("model") != by:
        return None
    keys = pl.read_parquet(path, columns=["key"])["key"]
    return None if keys.has_nulls() else set(keys)


def finished_plans(
    grid: Grid,
    model: str,
    shard: str,
    pending: Collection[str],
    identity_of_requests: Mapping[str, Any],
) -> dict[str, dict[str, set[str]]]:
    """Return the finished plans of a shard: their keys by dataset and identity.

    A row without a request keeps a plan open: a prompt may now exist for it.
    """
    by = fingerprint(identity_of_requests)
    planned: dict[str, dict[str, set[str]]] = defaultdict(dict)
    for of in asked_of(grid, model, pending):
        keys = _planned_keys(plan_path(grid, model, of.dataset, of.identity, shard), by)
        if keys is not None:
            planned[of.dataset][of.identity] = keys
    return {
        dataset: _finished(
            journal_of(
                grid,
                model,
                dataset,
                [plan_path(grid, model, dataset, identity, shard) for identity in keys],
            ),
            keys,
        )
        for dataset, keys in planned.items()
    }


def _finished(journal: Journal, planned: Mapping[str, set[str]]) -> dict[str, set[str]]:
    wanted = pl.Series(sorted(set().union(*planned.values())), dtype=pl.String)
    there = finished_keys(journal, wanted)
    return {identity: keys for identity, keys in planned.items() if keys <= there}


def n_finished(
    grid: Grid,
    model: str,
    pending: Collection[str],
    finished: Mapping[str, Mapping[str, set[str]]],
) -> int | None:
    """Return the number of a shard's requests if everything pending is finished, else None."""
    done = {(dataset, identity) for dataset, plans in finished.items() for identity in plans}
    if {(of.dataset, of.identity) for of in asked_of(grid, model, pending)} - done:
        return None
    return sum(len(set().union(*plans.values())) for plans in finished.values())
