"""Rates of items that have several turns each: Wilson's limits at the effective number of turns.

Items with the same counts are exchangeable, so they are given as counted patterns. Nothing is
random: equal counts have equal limits in every table.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from userturn.stats.combinations import combine
from userturn.stats.proportions import (
    CONFIDENCE,
    Array,
    Interval,
    jeffreys_limits,
    wilson,
    wilson_limits,
)

WHOLE = 1e-9  # from which a count is no whole number
Limits = Callable[[float, float, float], tuple[Array, Array]]


class Patterns(NamedTuple):
    """Items of one dataset, counted by their numbers of turns; arrays of equal length."""

    n_items: Array
    n_scored: Array
    n_positive: Array

    @property
    def seen(self) -> "Patterns":
        """Return the items with a scored turn."""
        kept = self.n_scored > 0
        return Patterns(*(values[kept] for values in self))

    @property
    def total_scored(self) -> float:
        """Return the number of scored turns."""
        return float(self.n_items @ self.n_scored)

    @property
    def total_positive(self) -> float:
        """Return the number of positive turns."""
        return float(self.n_items @ self.n_positive)


_has_copies: ContextVar[bool] = ContextVar("has_copies")  # of the study that tables are made of


@contextmanager
def rows_have_copies(there_are: bool) -> Iterator[None]:
    """Take rows for some that may be copies of others, in this block."""
    token = _has_copies.set(there_are)
    try:
        yield
    finally:
        _has_copies.reset(token)


def copies(*counts: ArrayLike) -> float:
    """Return how many turns stand for one: what divides all whole counts of some items; else 1.

    Where every row is there k times, with its verdict, k turns are worth one, also where the turns
    of an item vary more than chance would have them. 1 in a study without copies, whose items may
    have as many equal turns by chance.
    """
    if not _has_copies.get(False):
        return 1.0
    found = np.concatenate([np.ravel(values) for values in counts])
    whole = np.rint(found)
    is_whole = bool(np.all(np.abs(found - whole) < WHOLE))
    return max(1.0, float(np.gcd.reduce(whole.astype(np.int64)))) if is_whole else 1.0


def design_effect(patterns: Patterns, least: float = 1.0) -> float:
    """Return how much wider a rate is since turns share items: variance over items, over turns.

    The variance of a ratio linearised (Kish 1965, Survey Sampling, section 6.3), with half an item
    of either kind added, all positive and none (as Jeffreys' prior adds half a turn): where every
    turn is alike it is the number of turns of an item, and where each item has one turn it is 1.

    Args:
        patterns: items of which some turn was scored.
        least: the effect is never below; shares of items, of k turns each, may go down to 1/k.
    """
    n, m, y = patterns
    mean = patterns.total_scored / n.sum()
    turns = patterns.total_scored + mean
    rate = (patterns.total_positive + mean / 2) / turns
    spread = float(n @ (y - rate * m) ** 2) + mean**2 * ((1 - rate) ** 2 + rate**2) / 2
    return max(least, float(spread / (turns * rate * (1 - rate))))


def pooled_rate(
    patterns: Patterns,
    least: float = 1.0,
    confidence: float = CONFIDENCE,
    limits: Limits = wilson_limits,
) -> Interval:
    """Return a rate with Wilson's, or other, limits at the effective number of turns.

    The score interval at an effective sample size: Dean and Pagano 2015, J Surv Stat Methodol
    3:484-503, doi:10.1093/jssam/smv024. `least` is that of `design_effect`.
    """
    scored, positive = patterns.total_scored, patterns.total_positive
    once = copies(*patterns[1:])
    worth = scored / design_effect(patterns, least * once if least <= 1 else max(least, once))
    # Share first, or rounding would make a rate of 1 slightly different.
    lower, upper = limits(positive / scored * worth, worth, confidence)
    return Interval(positive / scored, float(lower), float(upper))


def _mean_of_datasets(datasets: Sequence[Patterns], confidence: float) -> Interval:
    """Return the mean of the datasets' rates; their Jeffreys limits are put together by MOVER."""
    rates = [pooled_rate(patterns, 1.0, confidence, jeffreys_limits) for patterns in datasets]
    return combine(rates, np.full(len(rates), 1 / len(rates)))


def _together(datasets: Sequence[Patterns]) -> Patterns:
    return Patterns(*(np.concatenate(columns) for columns in zip(*datasets, strict=True)))


def clustered_rate(
    datasets: Sequence[Patterns], average: str, confidence: float = CONFIDENCE
) -> tuple[Interval, str]:
    """Return a rate over datasets with its interval, and the name of the interval.

    `micro` pools all turns: Wilson's interval if each item was scored once, else at the effective
    number of turns. `macro` is the mean of the datasets' rates, whose Jeffreys limits are
    put together by MOVER (`combinations`), so a dataset at 0 or 1 is not certain.

    Args:
        datasets: the patterns of each dataset.
        average: `micro` weighs turns equally, `macro` datasets.
        confidence: confidence of the interval.
    """
    seen = [found for patterns in datasets if len((found := patterns.seen).n_items)]
    if not seen:
        return Interval(None, None, None), "none"
    once = all(patterns.n_scored.max() <= 1 for patterns in seen)
    if average == "macro" and len(seen) > 1:
        return _mean_of_datasets(seen, confidence), "MOVER over datasets"
    all_of_them = _together(seen)
    if once:
        n_positive, n_scored = round(all_of_them.total_positive), round(all_of_them.total_scored)
        return wilson(n_positive, n_scored, confidence), "Wilson"
    return pooled_rate(all_of_them, confidence=confidence), "Wilson over items"
