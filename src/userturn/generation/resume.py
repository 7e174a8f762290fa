"""Check from plans and journals alone whether a sweep has any request left.

A sweep that was killed after its last request, or whose cell was deleted, then ends within a
second: no tokenizer is loaded and nothing is planned again.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from userturn.generation.plan_files import plan_path
from userturn.storage.atomic_files import read_artifact
from userturn.storage.hashing import fingerprint
from userturn.storage.journal_table import finished_keys
from userturn.study.candidates import candidate_tables, candidates_identity
from userturn.study.grid import Grid
from userturn.study.scored_turns import scored_turns, scores_identity
from userturn.study.self_play import ANSWERS, TURNS, depth_identity, depths


def _pending_plans(grid: Grid, model: str, pending: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield dataset and identity of all that is pending.

    That is answers, cells, depths of self-play, candidates and scores.
    """
    answers = [(name, grid.answers_identity(model, name)) for name in grid.datasets]
    cells = [(c.dataset, grid.cell_identity(c)) for c in grid.cells if c.model == model]
    played = [
        (at.dataset, depth_identity(grid, at, what))
        for at in depths(grid)
        if at.model == model
        for what in (ANSWERS, TURNS)
    ]
    scores = [(s.dataset, scores_identity(grid, s)) for s in scored_turns(grid) if s.model == model]
    tables = [t for t in candidate_tables(grid) if t.model == model]
    candidates = [(t.dataset, candidates_identity(grid, t)) for t in tables]
    every = chain(answers, cells, played, candidates, scores)
    return (plan for plan in every if plan[1] in pending)


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
    for dataset, identity in _pending_plans(grid, model, pending):
        keys = _planned_keys(plan_path(grid, model, dataset, identity, shard), by)
        if keys is not None:
            planned[dataset][identity] = keys
    return {
        dataset: _finished(grid.journal_folder(model, dataset), keys)
        for dataset, keys in planned.items()
    }


def _finished(journal: Path, planned: Mapping[str, set[str]]) -> dict[str, set[str]]:
    wanted = pl.Series(sorted(set().union(*planned.values())), dtype=pl.String)
    there = finished_keys(journal, wanted)
    return {identity: keys for identity, keys in planned.items() if keys <= there}


def n_finished(
    pending: Collection[str], finished: Mapping[str, Mapping[str, set[str]]]
) -> int | None:
    """Return the number of a shard's requests if everything pending is finished, else None."""
    done = [identity for plans in finished.values() for identity in plans]
    if len(done) < len(pending):
        return None
    return sum(len(set().union(*plans.values())) for plans in finished.values())
