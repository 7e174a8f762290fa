"""Rates of the same clusters under several conditions, and any sum or difference of them.

A condition's rate is over all its turns, and a cluster may have turns under some conditions only.
So every difference in a table is that of the two printed rates, and its limits allow for what the
rates share through clusters.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from userturn.stats.proportions import (
    CONFIDENCE,
    Array,
    Interval,
    Limits,
    Patterns,
    combine,
    copies,
    exact_limits,
    jeffreys_limits,
    quantile_of,
    share_and_worth,
    wilson_limits,
)


class Counts(NamedTuple):
    """Clusters, such as items, counted by their turns under each condition.

    Attributes:
        n: number of clusters with these counts.
        turns: scored turns of such a cluster, patterns x conditions; those of a drawn sample times
            the number of turns that each stands for.
        positive: positive turns of such a cluster, patterns x conditions.
        least: the least design effect (`proportions.design_effect`), by condition: the number of
            turns that a drawn one stands for, or 1 / k where a turn's label is the mean of k.
    """

    n: Array
    turns: Array
    positive: Array
    least: Array | None = None


def side_by_side(*conditions: tuple[ArrayLike, ArrayLike]) -> Counts:
    """Return the counts of clusters, each once, from (turns, positive turns) of each condition."""
    positive = np.column_stack([np.asarray(y, dtype=float) for _, y in conditions])
    shape = len(positive)
    turns = [np.broadcast_to(np.asarray(m, dtype=float), shape) for m, _ in conditions]
    return Counts(np.ones(shape), np.column_stack(turns), positive)


def rates(
    counts: Counts, confidence: float = CONFIDENCE, limits: Limits = wilson_limits
) -> list[Interval]:
    """Return the rate of each condition with its limits, all None where no turn was scored."""
    least = np.ones(counts.turns.shape[1]) if counts.least is None else counts.least
    columns = zip(counts.turns.T, counts.positive.T, least, strict=True)
    there = np.asarray(counts.turns.any(axis=0))
    shares, worths = np.full((2, len(there)), np.nan)
    for number, (turns, positive, at_least) in enumerate(columns):
        if there[number]:
            seen = Patterns(counts.n, turns, positive).seen
            shares[number], worths[number] = share_and_worth(seen, float(at_least))
    # Share first, or rounding would make a rate of 1 slightly different.
    both = limits(shares[there] * worths[there], worths[there], confidence)
    intervals = iter(np.column_stack([shares[there], *both]).tolist())
    return [Interval(*next(intervals)) if one else Interval(None, None, None) for one in there]


def correlations(counts: Counts) -> Array:
    """Return the correlations of the conditions' rates over clusters, 0 where a rate does not vary.

    The result is an array of conditions x conditions. As in Newcombe's method 10, a positive sum of
    products is corrected for continuity by half a turn, or by half of the smaller `least`.
    """
    n, turns, positive = counts[:3]
    shares = (n @ positive) / (n @ turns)
    residuals = (positive - turns * shares) / copies(turns, positive)
    products = (residuals * n[:, None]).T @ residuals
    least = np.ones(len(shares)) if counts.least is None else counts.least
    half = np.minimum.outer(least, least) / 2
    corrected = np.where(products > 0, np.maximum(products - half, 0), products)
    sizes = np.sqrt(np.outer(np.diag(products), np.diag(products)))
    quotients = np.divide(corrected, sizes, out=np.zeros_like(products), where=sizes > 1e-12)
    np.fill_diagonal(quotients, 1.0)
    return np.asarray(quotients)


def combination(counts: Counts, coefficients: Array, confidence: float = CONFIDENCE) -> Interval:
    """Return a linear combination of rates with its limits.

    Jeffreys' limits of the rates at their effective numbers of turns are combined by MOVER with the
    correlations of the clusters' residuals (Zou and Donner 2008, Stat Med 27:1693-1702). For a
    difference of two rates of one turn per item it is Newcombe's method 10 (1998, Stat Med
    17:2635-2650), but with Jeffreys' limits in place of Wilson's, which are a third too wide near
    0. All are None if the estimate of a rate is.
    """
    parts = rates(counts, confidence, jeffreys_limits)
    if any(part.estimate is None for part in parts):
        return Interval(None, None, None)
    return combine(parts, coefficients, correlations(counts))


def change(counts: Counts, confidence: float = CONFIDENCE) -> Interval:
    """Return the second condition's rate minus the first's, with its limits."""
    return combination(counts, np.array([-1.0, 1.0]), confidence)


def share_that_reacts(counts: Counts, sensitivity: Interval) -> Interval:
    """Return the share of turns that react to their answer: (rate - floor) / (s - floor).

    The two conditions of `counts` are the turns after other answers and the turns after their own.
    A judge calls a share s of the reacting turns genuine, and of the others the share of its floor.
    So the share p solves rate - (1 - p) floor - p s = 0, within 0 and 1. Its limits are those of
    all p for which the interval of that sum contains 0 (as in `first_part`). All are None where s
    is not above the floor.
    """
    floor, rate = parts = rates(counts, limits=jeffreys_limits)
    s = sensitivity.estimate
    if floor.estimate is None or rate.estimate is None or s is None or s <= floor.estimate:
        return Interval(None, None, None)
    related = np.eye(3)
    related[:2, :2] = correlations(counts)

    def apart(p: float) -> Interval:
        return combine([*parts, sensitivity], np.array([p - 1, 1.0, -p]), related)

    share = min(1.0, max(0.0, (rate.estimate - floor.estimate) / (s - floor.estimate)))
    lower = _edge(share, 0.0, lambda p: (apart(p).lower or 0.0) <= 0)
    return Interval(share, lower, _edge(share, 1.0, lambda p: (apart(p).upper or 0.0) >= 0))


def first_part(counts: Counts) -> Interval:
    """Return the first condition's share of the positive turns of both conditions.

    The share s solves (1 - s) a - s b = 0, where a and b are the positive turns of the first and
    the second condition. Limits are those of all s for which the interval of that difference
    contains 0 (Fieller 1954, JRSS B 16:175, with MOVER's intervals). So a condition may have a
    share above 0 although none of its turns was positive. The limits of the two rates are exact
    ones at their effective numbers of turns, since one positive turn may stand for hundreds. The
    numbers of turns are random too, with Wilson's limits. Both conditions have scored turns, and
    each turn counts as many times as it stands for. All are None if no turn is positive.
    """
    sizes = counts.n @ counts.turns
    related = np.eye(3)
    related[:2, :2] = correlations(counts)
    parts, total = [exact_limits(r, CONFIDENCE) for r in rates(counts)], float(sizes.sum())
    p, q = (part.estimate or 0.0 for part in parts)
    first, second = sizes[0] * p, sizes[1] * q
    if first + second == 0:
        return Interval(None, None, None)
    share, of_second = float(first / (first + second)), float(sizes[1] / total)
    lower_size, upper_size = wilson_limits(sizes[1], total)
    moved = Interval(0.0, float(lower_size) - of_second, float(upper_size) - of_second)

    def apart(s: float) -> Interval:
        coefficients = [(1 - s) * sizes[0], -s * sizes[1], -((1 - s) * p + s * q) * total]
        return combine([*parts, moved], np.array(coefficients), related)

    lower = _edge(share, 0.0, lambda s: (apart(s).lower or 0.0) <= 0)
    return Interval(share, lower, _edge(share, 1.0, lambda s: (apart(s).upper or 0.0) >= 0))


def _edge(inside: float, end: float, holds: Callable[[float], bool]) -> float:
    """Return the farthest point from `inside` towards `end` at which a monotone condition holds."""
    if holds(end):
        return end
    for _ in range(40):
        middle = (inside + end) / 2
        inside, end = (middle, end) if holds(middle) else (inside, middle)
    return inside


POWER = 0.8


def clustered_change(
    n_turns: Array,
    before: Array,
    after: Array,
    raters: tuple[int, int] = (1, 1),
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the change of a rate of turns that come in clusters, with its limits as in `change`.

    `before` and `after` are sums per cluster, over turns that are each 0 or 1, or the mean of
    several raters. `raters` has the number of raters under either condition.
    """
    counts = side_by_side((n_turns, before), (n_turns, after))
    return change(counts._replace(least=1 / np.array(raters, dtype=float)), confidence)


def _detectable(pairs: Array, psi: Array, z1: float, z2: float) -> Array:
    """Return Connor's smallest detectable difference, at most 1."""
    root = pairs * z1**2 * psi - (pairs + z2**2) * psi * (z1**2 - z2**2)
    delta = (z1 * np.sqrt(pairs * psi) + np.sqrt(np.maximum(root, 0))) / (pairs + z2**2)
    # All change in one direction, ψ = δ: n (1 - s²) = (z1 + z2 s)² with s = √(1 - δ).
    inside = z1**2 * z2**2 + (pairs + z2**2) * (pairs - z1**2)
    s = (np.sqrt(np.maximum(inside, 0)) - z1 * z2) / (pairs + z2**2)
    one_way = np.where(pairs > z1**2, 1 - np.maximum(s, 0) ** 2, 1.0)
    return np.asarray(np.minimum(np.where(delta >= psi, np.maximum(one_way, psi), delta), 1.0))


def detectable_difference(
    n: ArrayLike, discordant: ArrayLike, level: float = 1 - CONFIDENCE
) -> Array:
    """Return the smallest difference that n pairs detect with a power of `POWER`.

    `discordant` is ψ, the share of items that differ. `level` is that of the two-sided test: 0.05,
    or 0.05 divided by the number of tests. The difference δ solves n δ² = (z₁√ψ + z₂√(ψ - δ²))²
    (Connor 1987, Biometrics 43:207-211, and Fleiss, Tytun and Ury 1980, 36:343-346). A net change
    of δ needs at least a share δ of items that differ. So if δ is not below ψ, ψ = δ is used, which
    is a change in one direction. The result is at most 1, and nan without items.
    """
    pairs, psi = np.asarray(n, dtype=float), np.asarray(discordant, dtype=float)
    z1, z2 = quantile_of(1 - level), quantile_of(2 * POWER - 1)
    return np.where(pairs > 0, _detectable(np.maximum(pairs, 1e-9), psi, z1, z2), np.nan)
