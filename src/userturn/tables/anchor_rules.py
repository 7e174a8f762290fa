"""Decide by intervals whether a prediction holds in a study, does not, or is undecided.

A prediction holds if the interval lies within its region, and fails if it lies wholly outside
(three-sided testing: Goeman, Solari and Stijnen 2010, Stat Med 29:2117-2125). Anything between is
undecided, since a small study confirms nothing. An undecided prediction says how many times as many
items it needs, since limits come nearer as the root of the number of items. The margin is ours.
"""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from userturn.stats.proportions import CONFIDENCE, Interval, combine, exact_limits

MARGIN = 0.05  # of shares and of changes of shares
MOST_TIMES = 1000  # a study of more times its items is no plan
HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
Limits = tuple[float, float]


class Decision(NamedTuple):
    """Whether a prediction holds, and if undecided, how many times as many items it needs."""

    outcome: str  # HOLDS, FAILS or UNDECIDED
    times: float | None = None  # None also beyond `MOST_TIMES`


def _limits(interval: Interval) -> Limits:
    """Return the limits of an interval, or raise ValueError if it has none."""
    if interval.lower is None or interval.upper is None:
        raise ValueError("an interval without limits has no outcome")
    return interval.lower, interval.upper


def lies_within(interval: Interval, least: float = -inf, most: float = inf) -> Decision:
    """Return whether a quantity lies between two edges, by its interval."""
    lower, upper = _limits(interval)
    if least <= lower and upper <= most:
        return Decision(HOLDS)
    if upper < least or most < lower:
        return Decision(FAILS)
    estimate = _estimate(interval)
    return _undecided([interval], [min(abs(estimate - least), abs(most - estimate))])


def _estimate(interval: Interval) -> float:
    lower, upper = _limits(interval)
    return (lower + upper) / 2 if interval.estimate is None else interval.estimate


def _undecided(intervals: Sequence[Interval], distances: Sequence[float]) -> Decision:
    """Return the undecided outcome, with the factor of items that all its parts need."""
    times = 1.0
    for interval, distance in zip(intervals, distances, strict=True):
        lower, upper = _limits(interval)
        estimate = _estimate(interval)
        half = max(upper - estimate, estimate - lower)
        times = max(times, (half / distance) ** 2 if distance else inf)
    return Decision(UNDECIDED, times if times <= MOST_TIMES else None)


def share_is(interval: Interval, published: float, rounding: float) -> Decision:
    """Return the outcome for a published share ± `rounding`: ours is within the margin or not."""
    return lies_within(interval, published - rounding - MARGIN, published + rounding + MARGIN)


def all_near_zero(rates: Sequence[Interval]) -> Decision:
    """Return the outcome for the claim that every rate is near zero, below the margin.

    A single rate above the margin is enough to fail, so the intervals for that are simultaneous
    (Bonferroni).
    """
    if all(_limits(rate)[1] <= MARGIN for rate in rates):
        return Decision(HOLDS)
    together = [exact_limits(rate, 1 - (1 - CONFIDENCE) / len(rates)) for rate in rates]
    if any(_limits(rate)[0] > MARGIN for rate in together):
        return Decision(FAILS)
    return _undecided(rates, [abs(MARGIN - _estimate(rate)) for rate in rates])


def highest(rates: Sequence[Interval]) -> Interval:
    """Return the highest of several rates, with limits that allow for the selection.

    With simultaneous intervals (Bonferroni), the highest true rate is above every lower limit and
    below the highest upper limit.
    """
    together = [exact_limits(rate, 1 - (1 - CONFIDENCE) / len(rates)) for rate in rates]
    limits = [_limits(rate) for rate in together]
    top = max(rate.estimate for rate in rates if rate.estimate is not None)
    return Interval(top, max(lower for lower, _ in limits), max(upper for _, upper in limits))


def rises(change: Interval) -> bool | None:
    """Return True if an interval is above 0, False if it is below the margin, otherwise None."""
    lower, upper = _limits(change)
    if lower > 0:
        return True
    return False if upper < MARGIN else None


def all_rise(changes: Sequence[Interval]) -> Decision:
    """Return the outcome for the claim that every change is a rise."""
    return _decide_rises(changes, [rises(change) for change in changes], True)


def none_rises(changes: Sequence[Interval]) -> Decision:
    """Return the outcome for the claim that no change is a rise."""
    return _decide_rises(changes, [rises(change) for change in changes], False)


def _decide_rises(
    changes: Sequence[Interval], outcomes: Sequence[bool | None], is_rise: bool
) -> Decision:
    if (not is_rise) in outcomes:
        return Decision(FAILS)
    undecided = [change for change, rise in zip(changes, outcomes, strict=True) if rise is None]
    if not undecided:
        return Decision(HOLDS)
    # Either limit may decide: the lower one when it leaves 0, the upper when it enters the margin.
    estimates = map(_estimate, undecided)
    return _undecided(undecided, [max(estimate, MARGIN - estimate) for estimate in estimates])


def rise_over_size(sizes: Sequence[float], rates: Sequence[Interval]) -> Interval:
    """Return the rise of rates from the smallest size to the largest, by their regression line.

    Least squares over log2 of size is a weighted sum of the rates, whose limits follow from theirs
    (`proportions.combine`). Models answer the same items, so their rates are positively correlated.
    Treating them as independent makes the limits somewhat too wide.
    """
    x = np.log2(np.asarray(sizes, dtype=float))
    deviations = x - x.mean()
    return combine(rates, deviations / (deviations @ deviations) * (x.max() - x.min()))
