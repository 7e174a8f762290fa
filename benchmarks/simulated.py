"""Known truths to draw from, and how often intervals hold them: parts of `coverage.py`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from userturn.stats.proportions import Patterns

PAPER = (1319, 500, 300, 1000, 1078)  # items of its datasets
Generator = np.random.Generator
Array = np.ndarray


class Result(NamedTuple):
    """What one regime gives: `attained` is a share of replications, `width` that of an interval.

    Without a `nominal` share it is no promise: how often something is found that is there.
    """

    statistic: str
    regime: str
    nominal: float | None
    attained: float
    width: float | None = None


def items(rng: Generator, n: int, rate: float, alike: float) -> Array:
    """Return the chance of each of n items, of the mean `rate` and the intraclass correlation."""
    if alike == 0:
        return np.full(n, rate)
    scale = 1 / alike - 1
    return rng.beta(rate * scale, (1 - rate) * scale, n)


def patterns(turns: int, positive: Array) -> Patterns:
    """Return items of equally many turns, counted."""
    values, counts = np.unique(positive, return_counts=True)
    return Patterns(counts.astype(float), np.full(len(values), float(turns)), values.astype(float))


def held(intervals: Sequence[tuple[float | None, float, float | None]]) -> tuple[float, float]:
    """Return how often limits hold the truth, and their mean width, of (lower, truth, upper)."""
    lower, truth, upper = np.array(intervals, dtype=float).T
    inside = (lower - 1e-9 <= truth) & (truth <= upper + 1e-9)
    return float(inside.mean()), float((upper - lower).mean())
