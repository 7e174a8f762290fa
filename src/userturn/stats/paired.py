"""Two conditions on the same items: test, difference and detectable difference."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr  # scipy.stats takes seconds to import

from userturn.stats.proportions import CONFIDENCE, Array, quantile_of, wilson_limits

POWER = 0.8
STEPS = 50  # of a fixed point that settles in ten


def mcnemar(n_first_only: ArrayLike, n_second_only: ArrayLike) -> Array:
    """Return the exact two-sided p of McNemar's test (1947, Psychometrika 12:153-157).

    Of the n items that differ, those for the first are Binomial(n, 1/2) if nothing differs;
    p is twice the smaller tail, at most 1. Without any item that differs p is 1.
    """
    first, second = np.asarray(n_first_only), np.asarray(n_second_only)
    tail = bdtr(np.minimum(first, second), first + second, 0.5)
    return np.asarray(np.minimum(2 * tail, 1.0))


def newcombe(
    n_both: ArrayLike,
    n_first_only: ArrayLike,
    n_second_only: ArrayLike,
    n_neither: ArrayLike,
    confidence: float = CONFIDENCE,
) -> tuple[Array, Array, Array]:
    """Return the difference of paired proportions, second minus first, with its limits.

    Newcombe 1998, Stat Med 17:2635-2650, method 10: the squares of the distances between each
    proportion and its Wilson limit are added, less twice their product times the correlation φ,
    which is corrected for continuity. All nan without items.
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
        (l1, u1), (l2, u2) = (
            wilson_limits(a + b, n, confidence),
            wilson_limits(a + c, n, confidence),
        )
        below = (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
        above = (u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    lower = difference - np.sqrt(np.maximum(below, 0))
    upper = difference + np.sqrt(np.maximum(above, 0))
    return difference, lower, upper


def detectable_difference(
    n: ArrayLike, discordant: ArrayLike, confidence: float = CONFIDENCE, power: float = POWER
) -> Array:
    """Return the smallest difference that n pairs show with the power asked for.

    Connor 1987, Biometrics 43:207-211, solved for the difference δ: with ψ the share of items that
    differ, n δ² = (z₁√ψ + z₂√(ψ - δ²))². A net change needs as many items that differ: where δ
    is not below ψ, ψ = δ is taken, a change in one direction. At most 1; nan without items.
    """
    pairs, psi = np.asarray(n, dtype=float), np.asarray(discordant, dtype=float)
    z1, z2 = quantile_of(confidence), quantile_of(2 * power - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = pairs * z1**2 * psi - (pairs + z2**2) * psi * (z1**2 - z2**2)
        delta = (z1 * np.sqrt(pairs * psi) + np.sqrt(np.maximum(root, 0))) / (pairs + z2**2)
        one_way = np.ones_like(pairs)
        for _ in range(STEPS):
            one_way = np.minimum((z1 + z2 * np.sqrt(1 - one_way)) ** 2 / pairs, 1.0)
    return np.where(pairs > 0, np.where(delta >= psi, np.maximum(one_way, psi), delta), np.nan)
