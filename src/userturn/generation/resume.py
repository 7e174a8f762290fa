"""Whether a sweep has anything left to ask, by its plans and journals alone.

A sweep that was killed after its last request, or whose cell was lost, ends within a second:
no tokenizer is loaded and nothing is planned again.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from userturn.generation.plan_files import plan_path
from userturn.storage.hashing import fingerprint
from userturn.storage.journal_table import finished_keys
from userturn.study.grid import Grid
from userturn.study.scored_turns import scored_turns, scores_identity


def _pending_plans(grid: Grid, model: str, pending: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield dataset and identity of all that is pending: answers, cells and scores."""
    answers = [(name, grid.answers_identity(model, name)) for name in grid.datasets]
    cells = [(c.dataset, grid.cell_identity(c)) for c in grid.cells if c.model == model]
    scores = [(s.dataset, scores_identity(grid, s)) for s in scored_turns(grid) if s.model == model]
    return (plan for plan in answers + cells + scores if plan[1] in pending)


def _planned_keys(path: Path, by: str) -> set[str] | None:
    """Return the keys of a plan; None where it is not there, is of another model, or has gaps."""
    if not path.is_file() or pl.read_parquet_metadata(path).get("model") != by:
        return None
    keys = pl.read_parquet(path, columns=["key"])["key"]
    return None if keys.has_nulls() else set(keys)


def n_settled(
    grid: Grid,
    model: str,
    shard: str,
    pending: Collection[str],
    identity_of_requests: Mapping[str, Any],
) -> int | None:
    """Return how many requests a shard has, if all are planned and finished; else None.

    A row without a request keeps a plan open: what could not be asked then may be now.
    """
    by = fingerprint(identity_of_requests)
    planned: dict[str, set[str]] = defaultdict(set)
    for dataset, identity in _pending_plans(grid, model, pending):
        keys = _planned_keys(plan_path(grid, model, dataset, identity, shard), by)
        if keys is None:
            return None
        planned[dataset] |= keys
    for dataset, keys in planned.items():
        if finished_keys(grid.journal_folder(model, dataset), pl.Series(list(keys))) != keys:
            return None
    return sum(map(len, planned.values()))
