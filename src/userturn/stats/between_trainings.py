"""Changes by trainings that are repeated: items are a draw, and so are the trainings."""

from math import hypot, inf

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from userturn.stats.equivalence import Limits
from userturn.stats.proportions import CONFIDENCE, Interval

SMALLEST = 1e-9  # of the p-values that are told apart


def distance(changes: ArrayLike, confidence: float = CONFIDENCE) -> float:
    """Return how far the mean change by some trainings may be from that by all, by seeds alone.

    Student's limit of the mean over k trainings, at k - 1 degrees of freedom; infinite for one.
    """
    each = np.asarray(changes, dtype=np.float64)
    if len(each) < 2:
        return inf
    quantile = float(t.ppf(0.5 + confidence / 2, len(each) - 1))
    return float(quantile * each.std(ddof=1) / np.sqrt(len(each)))


def over_trainings(
    within: Interval, changes: ArrayLike, confidence: float = CONFIDENCE
) -> Interval:
    """Return a change with limits for items and trainings, of an interval for items alone.

    The squared distances to the limits add up (Banerjee 1960, Sankhya 22:19-28: the confidence is
    at least the stated one for independent parts that are normal, whatever their variances). What
    items and trainings have together is in both, so that limits are rather too far. Satterthwaite's
    degrees of freedom were measured beside it (docs/methods.md).

    Args:
        within: the change over these trainings, its limits at this confidence over items.
        changes: the change by each training, two or more.
        confidence: confidence of the interval.
    """
    if within.estimate is None or within.lower is None or within.upper is None:
        return within
    apart, at = distance(changes, confidence), within.estimate
    return Interval(at, at - hypot(at - within.lower, apart), at + hypot(within.upper - at, apart))


def p_of_none(limits: Limits) -> float:
    """Return the two-sided p that a change is 0: the level at which its limits reach 0.

    Args:
        limits: returns the change's interval of any confidence.
    """

    def holds_none(p: float) -> bool:
        found = limits(1 - p)
        return (found.lower or 0.0) <= 0 <= (found.upper or 0.0)

    least, most = np.log(SMALLEST), 0.0
    if not holds_none(SMALLEST):
        return SMALLEST
    for _ in range(40):
        middle = (least + most) / 2
        least, most = (middle, most) if holds_none(float(np.exp(middle))) else (least, middle)
    return float(np.exp(most))
