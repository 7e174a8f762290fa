"""Unpack Snakemake's wildcards, so that all other code takes cells and names."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from userturn.study.cells import Cell
from userturn.study.self_play import Depth

T = TypeVar("T")


def cell_of(wildcards: Any) -> Cell:
    """Return the cell that a job's wildcards name."""
    return Cell(wildcards.model, wildcards.dataset, wildcards.temperature, wildcards.perturbation)


def depth_of(wildcards: Any) -> Depth:
    """Return the depth of self-play that a job's wildcards name."""
    place = wildcards.model, wildcards.dataset, wildcards.temperature
    return Depth(*place, int(wildcards.depth))


def by_wildcards(method: Callable[..., T]) -> Callable[[Any], T]:
    """Return a function of a job's wildcards that calls `method`.

    The parameter `cell` is the cell that they name, `round_name` is the wildcard `round`, and every
    other parameter is the wildcard of its name.
    """
    names = [name.removesuffix("_name") for name in inspect.signature(method).parameters]

    def of_job(wildcards: Any) -> T:
        return method(*(_given(wildcards, name) for name in names))

    return of_job


def _given(wildcards: Any, name: str) -> Any:
    return cell_of(wildcards) if name == "cell" else getattr(wildcards, name)
