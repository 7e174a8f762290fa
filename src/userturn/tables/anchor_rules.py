"""When a study agrees with a published result, differs from it, or cannot tell: by intervals.

A study agrees where its interval lies within the margin around what is published, and differs
where it lies wholly outside (three-sided testing: Goeman, Solari and Stijnen 2010, Stat Med
29:2117-2125). What is between cannot tell: a small study confirms nothing. The margin is ours.
"""

from collections.abc import Sequence

import numpy as np

from userturn.stats.combinations import combine
from userturn.stats.proportions import CONFIDENCE, Interval, exact_limits

MARGIN = 0.05  # of shares and of changes of shares
AGREES, DIFFERS, CANNOT_TELL = "agrees", "differs", "cannot tell"
Limits = tuple[float, float]


def _limits(interval: Interval) -> Limits:
    """Return the limits of an interval that has some."""
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
    """Return the outcome for rates of which each is near zero: below the margin.

    One that is shown to be above is enough to differ, so that is asked of intervals that hold
    together (Bonferroni).
    """
    if all(_limits(rate)[1] <= MARGIN for rate in rates):
        return AGREES
    together = [exact_limits(rate, 1 - (1 - CONFIDENCE) / len(rates)) for rate in rates]
    above = any(_limits(rate)[0] > MARGIN for rate in together)
    return DIFFERS if above else CANNOT_TELL


def highest(rates: Sequence[Interval]) -> Interval:
    """Return the highest of several rates, with limits that know that it was picked.

    Intervals that hold together (Bonferroni): the highest true rate is above every lower limit, and
    below the highest upper one.
    """
    together = [exact_limits(rate, 1 - (1 - CONFIDENCE) / len(rates)) for rate in rates]
    limits = [_limits(rate) for rate in together]
    top = max(rate.estimate for rate in rates if rate.estimate is not None)
    return Interval(top, max(lower for lower, _ in limits), max(upper for _, upper in limits))


def rises(change: Interval) -> bool | None:
    """Return whether a change is a rise: its interval is above 0; below the margin it is none."""
    lower, upper = _limits(change)
    if lower > 0:
        return True
    return False if upper < MARGIN else None


def all_rise(changes: Sequence[Interval]) -> str:
    """Return the outcome for changes of which each is a rise."""
    found = [rises(change) for change in changes]
    if all(found):
        return AGREES
    return DIFFERS if False in found else CANNOT_TELL


def none_rises(changes: Sequence[Interval]) -> str:
    """Return the outcome for changes of which none is a rise."""
    found = [rises(change) for change in changes]
    if True in found:
        return DIFFERS
    return CANNOT_TELL if None in found else AGREES


def rise_over_size(sizes: Sequence[float], rates: Sequence[Interval]) -> Interval:
    """Return how much rates rise from the smallest size to the largest, by their regression line.

    Least squares over log2 of size: a sum of the rates, whose limits are put together from theirs
    (`combinations`). Models answer the same items, so that their rates go together, which makes a
    difference of them no less certain: taken as independent, the limits are rather too wide.
    """
    x = np.log2(np.asarray(sizes, dtype=float))
    deviations = x - x.mean()
    return combine(rates, deviations / (deviations @ deviations) * (x.max() - x.min()))
