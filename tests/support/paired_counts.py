"""McNemar's test and Newcombe's method 10 over many tables of counts at once.

With one turn an item they are what the study's own test (`stats/significance`) and interval
(`stats/margins`) must give; simulations of many studies are quick with them.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr

from userturn.stats.proportions import CONFIDENCE, Array, jeffreys_limits


def mcnemar(n_first_only: ArrayLike, n_second_only: ArrayLike) -> Array:
    """Return the two-sided mid-p of McNemar's test (1947, Psychometrika 12:153-157).

    Of the n items that differ, those for the first are Binomial(n, 1/2) if nothing differs;
    p is twice the smaller tail, of which the number that was seen counts by half (Fagerland,
    Lydersen and Laake 2013, BMC Med Res Methodol 13:91), at most 1. Without any item that differs
    p is 1.
    """
    first, second = np.asarray(n_first_only), np.asarray(n_second_only)
    less, n = np.minimum(first, second), first + second
    below = np.where(less > 0, bdtr(np.maximum(less - 1, 0), n, 0.5), 0.0)
    return np.asarray(np.where(first == second, 1.0, below + bdtr(less, n, 0.5)))


def newcombe(
    n_both: ArrayLike,
    n_first_only: ArrayLike,
    n_second_only: ArrayLike,
    n_neither: ArrayLike,
    confidence: float = CONFIDENCE,
    limits: Callable[[Array, Array, float], tuple[Array, Array]] = jeffreys_limits,
) -> tuple[Array, Array, Array]:
    """Return the difference of paired proportions, second minus first, with its limits.

    Newcombe 1998, Stat Med 17:2635-2650, method 10: the squares of the distances between each
    proportion and its limit are added, less twice their product times the correlation φ,
    which is corrected for continuity; here with Jeffreys' limits, in the paper with Wilson's. All
    nan without items.
    """
    counts = (n_both, n_first_only, n_second_only, n_neither)
    a, c, b, d = (np.asarray(count, dtype=float) for count in counts)
    n = a + b + c + d
    with np.errstate(divide="ignore", invalid="ignore"):
        p1, p2, difference = (a + b) / n, (a + c) / n, (b - c) / n
        margins = (a + b) * (c + d) * (a + c) * (b + d)
        product = a * d - b * c
        corrected = np.where(product > 0, np.maximum(product - n / 2, 0), product)
        phi = np.where(margins > 0, corrected / np.sqrt(margins), 0.0)
        (l1, u1), (l2, u2) = (limits(a + b, n, confidence), limits(a + c, n, confidence))
        below = (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
        above = (u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    lower = difference - np.sqrt(np.maximum(below, 0))
    upper = difference + np.sqrt(np.maximum(above, 0))
    return difference, lower, upper
