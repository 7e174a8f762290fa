"""Is a quantity within a margin? Two one-sided tests, by intervals.

Schuirmann 1987, J Pharmacokinet Biopharm 15:657-680: a quantity is equivalent at the level α if
its interval of confidence 1 - 2α lies within the margins. A margin of None is not tested: one
alone is a test of non-inferiority, or of a rate that is small enough.
"""

from collections.abc import Callable
from typing import NamedTuple

from userturn.stats.proportions import Interval

LEVEL = 0.05
PRECISION = 1e-6  # precision of a p-value

Limits = Callable[[float], Interval]  # returns the interval of a confidence; they are nested


class Margins(NamedTuple):
    """The limits between which a quantity should lie; None is no limit."""

    lower: float | None
    upper: float | None

    def hold(self, interval: Interval) -> bool:
        """Return whether an interval lies within the margins."""
        return (self.lower is None or _at(interval.lower) > self.lower) and (
            self.upper is None or _at(interval.upper) < self.upper
        )

    def miss(self, interval: Interval) -> bool:
        """Return whether an interval lies wholly outside."""
        return (self.lower is not None and _at(interval.upper) < self.lower) or (
            self.upper is not None and _at(interval.lower) > self.upper
        )


class Equivalence(NamedTuple):
    """The interval of confidence 0.9, and p of the claim that the quantity is within its margins.

    Attributes:
        interval: the estimate with its limits.
        p: the smallest level at which the claim holds; 1 if the estimate itself is outside.
        is_outside: whether the interval lies wholly outside.
    """

    interval: Interval
    p: float
    is_outside: bool


def _at(limit: float | None) -> float:
    if limit is None:
        raise ValueError("an interval without limits cannot be held against margins")
    return limit


def equivalence(limits: Limits, margins: Margins) -> Equivalence:
    """Test by two one-sided tests whether a quantity lies within its margins.

    Args:
        limits: returns the quantity's interval of any confidence.
        margins: the margins.
    """
    interval = limits(1 - 2 * LEVEL)
    low, high = 0.0, 0.5
    if not margins.hold(limits(1 - 2 * (high - PRECISION))):
        return Equivalence(interval, 1.0, margins.miss(interval))
    while high - low > PRECISION:
        middle = (low + high) / 2
        if margins.hold(limits(1 - 2 * middle)):
            high = middle
        else:
            low = middle
    return Equivalence(interval, high, margins.miss(interval))
