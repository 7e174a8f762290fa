"""Decide by intervals whether a study agrees with a published result, differs, or cannot tell.

A study agrees if its interval lies within the margin around the published value, and differs if it
lies wholly outside (three-sided testing: Goeman, Solari and Stijnen 2010, Stat Med 29:2117-2125).
Anything between cannot tell: a small study confirms nothing. The margin is ours.
"""

from collections.abc import Sequence

import numpy as np

from userturn.stats.combinations import combine
from userturn.stats.proportions import CONFIDENCE, Interval, exact_limits

MARGIN = 0.05  # of shares and of changes of shares
AGREES, DIFFERS, CANNOT_TELL = "agrees", "differs", "cannot tell"
Limits = tuple[float, float]


def _limits(interval: Interval) -> Limits:
    """Return the limits of an interval; raises ValueError if it has none."""
    if interval.lower is None or interval.upper is None:
        raise ValueError("an interval without limits has no outcome")
    return interval.lower, interval.upper


def share_is(interval: Interval, published: float, rounding: float) -> str:
    """Return the outcome for a published share: within the margin, outside, or across its edge."""
    lower, upper = _limits(interval)
    least, most = published - rounding - MARGIN, published + rounding + MARGIN
    if least <= lower and upper <= most:
        return AGREES
    return DIFFERS if upper < least or most < lower else CANNOT_TELL


def all_near_zero(rates: Sequence[Interval]) -> str:
    """Return the outcome for the claim that every rate is near zero, below the margin.

    A single rate above it is enough to differ, so the intervals are simultaneous (Bonferroni).
    """
    if all(_limits(rate)[1] <= MARGIN for rate in rates):
        return AGREES
    together = [exact_limits(rate, 1 - (1 - CONFIDENCE) / len(rates)) for rate in rates]
    above = any(_limits(rate)[0] > MARGIN for rate in together)
    return DIFFERS if above else CANNOT_TELL


def highest(rates: Sequence[Interval]) -> Interval:
    """Return the highest of several rates, with limits that allow for the selection.

    With simultaneous intervals (Bonferroni), the highest true rate is above every lower limit and
    below the highest upper one.
    """
    together = [exact_limits(rate, 1 - (1 - CONFIDENCE) / len(rates)) for rate in rates]
    limits = [_limits(rate) for rate in together]
    top = max(rate.estimate for rate in rates if rate.estimate is not None)
    return Interval(top, max(lower for lower, _ in limits), max(upper for _, upper in limits))


def rises(change: Interval) -> bool | None:
    """Return True for an interval above 0, False for one below the margin, else None."""
    lower, upper = _limits(change)
    if lower > 0:
        return True
    return False if upper < MARGIN else None


def all_rise(changes: Sequence[Interval]) -> str:
    """Return the outcome for the claim that every change is a rise."""
    found = [rises(change) for change in changes]
    if all(found):
        return AGREES
    return DIFFERS if False in found else CANNOT_TELL


def none_rises(changes: Sequence[Interval]) -> str:
    """Return the outcome for the claim that no change is a rise."""
    found = [rises(change) for change in changes]
    if True in found:
        return DIFFERS
    return CANNOT_TELL if None in found else AGREES


def rise_over_size(sizes: Sequence[float], rates: Sequence[Interval]) -> Interval:
    """Return the rise of rates from the smallest size to the largest, by their regression line.

    Least squares over log2 of size is a weighted sum of the rates, whose limits follow from theirs
    (`combinations`). Models answer the same items, so their rates are positively correlated;
    treating them as independent makes the limits rather too wide.
    """
    x = np.log2(np.asarray(sizes, dtype=float))
    deviations = x - x.mean()
    return combine(rates, deviations / (deviations @ deviations) * (x.max() - x.min()))
