"""Unpack Snakemake's wildcards, so that all other code takes cells and names."""

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, TypeVar

from userturn.study.cells import Cell

T = TypeVar("T")
STUDY = "study."
NOT_OF_THE_STUDY = (
    "error: this study has no '{}'; correct the path that you asked for, or define and select what "
    "it names"
)


def any_of(names: Iterable[str]) -> str:
    """Return a regular expression of some names; of none, one that matches nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"


def cell_of(wildcards: Any) -> Cell:
    """Return the cell that a job's wildcards name."""
    return Cell(wildcards.model, wildcards.dataset, wildcards.temperature, wildcards.perturbation)


def by_wildcards(method: Callable[..., T]) -> Callable[[Any], T]:
    """Return a function of a job's wildcards that calls `method`.

    The parameter `cell` is the cell that they name, `round_name` is the wildcard `round`, and every
    other parameter is the wildcard of its name. The function ends the program with one sentence if
    the study has nothing of the names in a path that somebody asked for.
    """
    names = [name.removesuffix("_name") for name in inspect.signature(method).parameters]

    def of_job(wildcards: Any) -> T:
        given = [_given(wildcards, name) for name in names]
        try:
            return method(*given)
        except KeyError as error:
            if not _texts(error.args) <= _texts(given):
                raise
            asked = sorted(_texts(error.args))
            what = "of that name" if len(asked) == 1 else "with all of these names"
            # No UserError: Snakemake would put its own words and a traceback around it.
            sys.exit(
                f"error: this study has nothing {what}: {', '.join(asked)}; correct the path that "
                "you asked for, or define and select what it names"
            )

    return of_job


def by_path(method: Callable[..., T], *patterns: str) -> Callable[[Any], T]:
    """Return a function of a job's wildcards that calls `method` with paths.

    The function ends the program with one sentence if the study has no such file.

    Args:
        method: takes as many paths as there are patterns.
        patterns: paths from `results/` on, with wildcards in braces.
    """

    def of_job(wildcards: Any) -> T:
        paths = [pattern.format(**dict(wildcards.items())) for pattern in patterns]
        try:
            return method(*paths)
        except KeyError as error:
            if error.args[0] not in paths:
                raise
            sys.exit(NOT_OF_THE_STUDY.format(error.args[0]))

    return of_job


def said_of(study: Any, text: str) -> Any:
    """Return what a text of the table of jobs stands for.

    That is the text itself, or, if it begins with `study.`, the value that the study has under that
    name, or a function of a job's wildcards if that is a method. A method of paths is followed by
    these in brackets.
    """
    if not text.startswith(STUDY):
        return text
    name, _, paths = text.removeprefix(STUDY).removesuffix(")").partition("(")
    found = attrgetter(name)(study)
    if paths:
        return by_path(found, *paths.split(", "))
    return by_wildcards(found) if callable(found) else found


def _texts(names: Any) -> set[str]:
    """Return all names in tuples and lists of names."""
    if isinstance(names, str):
        return {names}
    return set().union(*map(_texts, names)) if isinstance(names, tuple | list) else {repr(names)}


def _given(wildcards: Any, name: str) -> Any:
    return cell_of(wildcards) if name == "cell" else getattr(wildcards, name)
