"""Two conditions on the same items: test, difference and detectable difference."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from userturn.stats.clustered import Patterns, mean_share, pooled_rate
from userturn.stats.combinations import combine
from userturn.stats.proportions import CONFIDENCE, Array, Interval, quantile_of

POWER = 0.8


class Shares(NamedTuple):
    """Items under two conditions, counted by shares of positive turns, as equal-length arrays.

    Attributes:
        before: share under the baseline.
        after: share under the condition.
        n_items: number of items with these two shares.
        turns_before: mean number of turns per item under the baseline.
        turns_after: the same under the condition.
    """

    before: Array
    after: Array
    n_items: Array
    turns_before: float
    turns_after: float


def paired_difference(shares: Shares, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean change of the items' shares, condition minus baseline, with its limits.

    Newcombe's method 10 (1998, Stat Med 17:2635-2650), extended from one turn per item to several:
    limits of both means at the effective number of items, and the items' correlation with the
    continuity correction 1/(2 n k) for n items of k turns. With one turn each it is method 10.
    """
    before, after, n_items = shares.before, shares.after, shares.n_items
    n = float(n_items.sum())
    means = [
        mean_share(before, n_items, shares.turns_before, confidence),
        mean_share(after, n_items, shares.turns_after, confidence),
    ]
    left, right = before - before @ n_items / n, after - after @ n_items / n
    covariance = float((left * right) @ n_items) / n
    if covariance > 0:
        step = 1 / (2 * n * max(shares.turns_before, shares.turns_after))
        covariance = max(covariance - step, 0.0)
    spread = float(np.sqrt((left**2 @ n_items) * (right**2 @ n_items))) / n
    phi = covariance / spread if spread > 1e-12 else 0.0
    return combine(means, np.array([-1.0, 1.0]), np.array([[1.0, phi], [phi, 1.0]]))


def clustered_change(
    n_turns: Array, before: Array, after: Array, raters: tuple[int, int] = (1, 1)
) -> Interval:
    """Return the change of a share of turns that come in clusters, with its limits.

    Newcombe's method 10 as in `paired_difference`, where clusters differ in size: limits of both
    shares at the effective number of turns, and the correlation of the clusters' residuals. With
    one turn a cluster it is method 10.

    Args:
        n_turns: turns of each cluster.
        before: sum over the turns of a cluster of 0 or 1, or of a mean of several, at the baseline.
        after: the same under the condition.
        raters: how many values each turn's is the mean of, at the baseline and under the condition.
    """
    once, total = np.ones_like(n_turns, dtype=float), float(n_turns.sum())
    sums = (before, after)
    rates = [
        pooled_rate(Patterns(once, n_turns, y), 1 / k) for y, k in zip(sums, raters, strict=True)
    ]
    left, right = (y - n_turns * float(y.sum()) / total for y in sums)
    covariance = float(left @ right) / total
    if covariance > 0:
        covariance = max(covariance - 1 / (2 * total * max(raters)), 0.0)
    spread = float(np.sqrt((left @ left) * (right @ right))) / total
    phi = covariance / spread if spread > 1e-12 else 0.0
    return combine(rates, np.array([-1.0, 1.0]), np.array([[1.0, phi], [phi, 1.0]]))


def _detectable(pairs: Array, psi: Array, z1: float, z2: float) -> Array:
    """Return Connor's smallest difference, at most 1."""
    root = pairs * z1**2 * psi - (pairs + z2**2) * psi * (z1**2 - z2**2)
    delta = (z1 * np.sqrt(pairs * psi) + np.sqrt(np.maximum(root, 0))) / (pairs + z2**2)
    # All change in one direction, ψ = δ: n (1 - s²) = (z1 + z2 s)² with s = √(1 - δ).
    inside = z1**2 * z2**2 + (pairs + z2**2) * (pairs - z1**2)
    s = (np.sqrt(np.maximum(inside, 0)) - z1 * z2) / (pairs + z2**2)
    one_way = np.where(pairs > z1**2, 1 - np.maximum(s, 0) ** 2, 1.0)
    return np.asarray(np.minimum(np.where(delta >= psi, np.maximum(one_way, psi), delta), 1.0))


def detectable_difference(
    n: ArrayLike, discordant: ArrayLike, level: float = 1 - CONFIDENCE, power: float = POWER
) -> Array:
    """Return the smallest difference that n pairs detect with a given power.

    Connor 1987, Biometrics 43:207-211, solved for the difference δ: with ψ the share of items that
    differ, n δ² = (z₁√ψ + z₂√(ψ - δ²))². The exact test is stricter than the normal one of that
    formula, so 1/δ pairs are subtracted (the correction of Fleiss, Tytun and Ury 1980, Biometrics
    36:343-346, for pairs). A net change of δ needs at least that share of items to differ: if δ is
    not below ψ, ψ = δ is used, a change in one direction, uncorrected. At most 1; nan without
    items.

    Args:
        n: number of pairs.
        discordant: ψ.
        level: level of the two-sided test: 0.05, or that divided by the number of tests.
        power: power of the test.
    """
    pairs, psi = np.asarray(n, dtype=float), np.asarray(discordant, dtype=float)
    z1, z2 = quantile_of(1 - level), quantile_of(2 * power - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = _detectable(pairs, psi, z1, z2)
        found = _detectable(np.maximum(pairs - 1 / plain, 1e-9), psi, z1, z2)
    return np.where(pairs > 0, np.where(plain > psi, plain, found), np.nan)
