"""Changes of turns that come in clusters, and the smallest change that items detect."""

import numpy as np
from numpy.typing import ArrayLike

from userturn.stats.margins import change, side_by_side
from userturn.stats.proportions import CONFIDENCE, Array, Interval, quantile_of

POWER = 0.8


def clustered_change(
    n_turns: Array,
    before: Array,
    after: Array,
    raters: tuple[int, int] = (1, 1),
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the change of a share of turns that come in clusters, with its limits.

    It is that of `margins`.

    Args:
        n_turns: turns of each cluster.
        before: sum over the turns of a cluster of 0 or 1, or of a mean of several, at the baseline.
        after: the same under the condition.
        raters: how many values each turn's is the mean of, at the baseline and under the condition.
        confidence: confidence of the interval.
    """
    counts = side_by_side((n_turns, before), (n_turns, after))
    return change(counts._replace(least=1 / np.array(raters, dtype=float)), confidence)


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
    differ, n δ² = (z₁√ψ + z₂√(ψ - δ²))². A net change of δ needs at least that share of items to
    differ: if δ is not below ψ, ψ = δ is used, a change in one direction. At most 1; nan without
    items.

    Args:
        n: number of pairs.
        discordant: ψ.
        level: level of the two-sided test: 0.05, or that divided by the number of tests.
        power: power of the test.
    """
    pairs, psi = np.asarray(n, dtype=float), np.asarray(discordant, dtype=float)
    z1, z2 = quantile_of(1 - level), quantile_of(2 * power - 1)
    return np.where(pairs > 0, _detectable(np.maximum(pairs, 1e-9), psi, z1, z2), np.nan)
