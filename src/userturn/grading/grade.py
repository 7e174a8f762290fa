"""The interface of a verifier: cases in, grades out: correct, wrong or undecided, never a guess."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

STAYED_OPEN = "criteria stayed open"  # in the reason of a grade that a judge may still give

SECONDS = 20.0  # for one answer; most verifiers need milliseconds


class Case(NamedTuple):
    """One answer with the data of its item that grade it."""

    answer: str
    reference: str | None = None
    arguments: Mapping[str, Any] = MappingProxyType({})
    prompt: str = ""


class Grade(NamedTuple):
    """A grade of one answer: correct, wrong, or undecided (None) with a reason.

    `correct_loose` is the grade by the loose reading of instruction following, else None. `score`
    is that of a rubric, which calls no answer correct or wrong, else None.
    """

    correct: bool | None
    reason: str | None = None
    correct_loose: bool | None = None
    score: float | None = None


def fitting(grade: Callable[[Case], Grade], case: Case) -> Grade:
    """Return the grade of a case, undecided where its item's arguments are not its verifier's."""
    try:
        return grade(case)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        return Grade(None, f"the item's arguments do not fit its verifier: {type(error).__name__}")


Verifier = Callable[[Sequence[Case], int], list[Grade]]
"""Grades cases in order, with at most the given number of processes."""


def mean_score(scores: Sequence[float]) -> float | None:
    """Return the score of many answers: the mean of theirs, clipped to [0, 1]; None for none."""
    return min(1.0, max(0.0, sum(scores) / len(scores))) if scores else None
