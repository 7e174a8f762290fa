"""Whether a score tells positives from negatives: over clusters of turns, and within items.

Items come as numbers from 0, one per answer, so that everything is computed over items at once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from userturn.stats.margins import clustered_change
from userturn.stats.proportions import (
    CONFIDENCE,
    Array,
    Interval,
    Patterns,
    copies,
    pooled_rate,
    quantile_of,
)
from userturn.stats.significance import sign_flip_p

Mask = NDArray[np.bool_]
NEGLIGIBLE = 1e-12  # nearer to 0 or 1 is rounding


def clustered_auc(scores: ArrayLike, positive: ArrayLike, clusters: Sequence[str]) -> Interval:
    """Return the chance that a positive scores higher than a negative, where ties count as half.

    `scores` are one per turn, none missing. The chance is the statistic of Mann and Whitney (1947,
    Ann Math Stat 18:50-60) per pair. The limits are score limits: all areas A with (A - area)² <=
    z² V(A), where V is Hanley and McNeil's variance (1982, Radiology 143:29-36) at the mean of the
    numbers of positives and negatives (Newcombe 2006, Stat Med 25:559-573, method 5). So there are
    limits at an area of 0 or 1, too. Both numbers are divided by the design effect of clusters,
    which is the ratio of the variance of their placements to V at the area. That variance is
    Obuchowski's (1997, Biometrics 53:567-578, section 3), or that of DeLong et al. (1988,
    Biometrics 44:837-845) where every cluster has one turn. There are no limits with fewer than two
    clusters of positives or of negatives, and no area without both.
    """
    x, is_positive = np.asarray(scores, np.float64), np.asarray(positive, bool)
    if is_positive.all() or not is_positive.any():
        return Interval(None, None, None)
    placements = _placements(x, is_positive)
    area = float(placements[is_positive].mean())
    names = np.asarray(clusters)
    fewest = [len(np.unique(names[kind])) for kind in (is_positive, ~is_positive)]
    if min(fewest) < 2:
        return Interval(area, None, None)
    of_turns = [np.unique(v, return_inverse=True)[1] for v in (names, is_positive, x)]
    once = copies(np.unique(of_turns, axis=1, return_counts=True)[1])
    sizes = np.array([is_positive.sum(), (~is_positive).sum()], float) / once
    if NEGLIGIBLE < area < 1 - NEGLIGIBLE:
        effect = _variance(placements - area, is_positive, names) / _area_variance(area, *sizes)
        sizes /= max(1.0, effect)
    else:  # nothing varies, so turns of a cluster may be copies
        sizes = np.array(fewest, float)
    z = quantile_of(CONFIDENCE)
    return Interval(area, *(_farthest(area, end, z, sizes) for end in (0.0, 1.0)))


def _area_variance(area: float, m: float, n: float) -> float:
    """Return the variance of the area for m independent positives and n independent negatives."""
    others = max(0.0, (m + n) / 2 - 1)
    extra = others * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * (1 + extra) / (m * n)


def _farthest(area: float, end: float, z: float, sizes: Array) -> float:
    """Return the area nearest to `end` that the score test does not reject."""
    inside = area
    for _ in range(50):
        middle = (inside + end) / 2
        is_near = (middle - area) ** 2 <= z**2 * _area_variance(middle, *sizes)
        inside, end = (middle, end) if is_near else (inside, middle)
    return inside


def _placements(x: Array, is_positive: Mask) -> Array:
    """Return per turn the share of turns of the other kind that it is ranked correctly against."""
    from scipy.stats import rankdata  # seconds, which rates would pay

    placements = np.empty(len(x))
    ranks = rankdata(x)
    for kind, right in ((is_positive, 1), (~is_positive, -1)):
        below = ranks[kind] - rankdata(x[kind])  # of the other kind; ties count as half
        share = below / (~kind).sum()
        placements[kind] = share if right > 0 else 1 - share
    return placements


def _variance(excess: Array, is_positive: Mask, clusters: np.ndarray) -> float:
    """Return the variance of the area over clusters, of which each kind has two or more."""
    names, number = np.unique(clusters, return_inverse=True)
    sums, counts, parts = [], [], []
    for kind in (is_positive, ~is_positive):
        n_clusters = len(np.unique(number[kind]))
        totals = np.bincount(number[kind], excess[kind], minlength=len(names))
        sums.append(totals)
        counts.append(int(kind.sum()))
        parts.append(n_clusters / (n_clusters - 1) * float(totals @ totals) / counts[-1] ** 2)
    shared = len(names) / (len(names) - 1) * float(sums[0] @ sums[1])
    return parts[0] + parts[1] + 2 * shared / (counts[0] * counts[1])


Numbers = NDArray[np.int64]
ROUNDING = 1e-9


class WonPairs(NamedTuple):
    """Pairs of a right and a wrong answer of one item, by item."""

    won: Array  # pairs in which the right answer scores higher; ties count as half
    n_pairs: Array  # all pairs of the item


def won_pairs(scores: ArrayLike, right: ArrayLike, items: Numbers) -> WonPairs:
    """Return all pairs and those that the right answer wins, as counts of items 0, 1, 2, ..."""
    x, is_right = np.asarray(scores, np.float64), np.asarray(right, bool)
    n_items = int(items.max()) + 1 if len(items) else 0
    won, n_pairs = np.zeros(n_items), np.zeros(n_items)
    for item in range(n_items):
        of_item = items == item
        above = x[of_item & is_right][:, None] - x[of_item & ~is_right][None, :]
        won[item] = (above > 0).sum() + (above == 0).sum() / 2
        n_pairs[item] = above.size
    return WonPairs(won, n_pairs)


def auc_within(pairs: WonPairs) -> Interval:
    """Return the share of pairs that the right answer wins, with limits clustered by item.

    It is the area under the ROC curve within items, each weighted by its pairs, so an item's
    difficulty has no influence. Limits are Wilson's at the effective number of pairs
    (`stats.proportions`), since an answer is in several pairs of its item. The estimate is None if
    there is no pair.
    """
    mixed = pairs.n_pairs > 0
    if not mixed.any():
        return Interval(None, None, None)
    patterns = Patterns(np.ones(int(mixed.sum())), pairs.n_pairs[mixed], pairs.won[mixed])
    return pooled_rate(patterns)


def chosen(scores: ArrayLike, right: ArrayLike, items: Numbers) -> Array:
    """Return per item the exact chance that the answer with the highest score is right.

    A missing score is nan. One of several answers with the highest score is chosen at random, and
    one of all answers where every score is missing. If all scores are equal, the chance is the
    accuracy of a random answer. `items` has every number from 0 to the largest.
    """
    x = np.nan_to_num(np.asarray(scores, np.float64), nan=-np.inf)
    is_right = np.asarray(right, np.float64)
    n_items = int(items.max()) + 1 if len(items) else 0
    most = np.full(n_items, -np.inf)
    np.maximum.at(most, items, x)
    best = (x == most[items]).astype(np.float64)
    return np.asarray(
        np.bincount(items, best * is_right, n_items) / np.bincount(items, best, n_items)
    )


class Change(NamedTuple):
    """The mean difference of two choices over items, its limits and exact p, or None."""

    estimate: float | None
    lower: float | None
    upper: float | None
    p: float | None


def change_of_choice(after: Array, before: Array) -> Change:
    """Return how much more often one choice is right than another, on the same items.

    `after` and `before` are the chances of a right answer per item. Limits are Newcombe's
    (`stats.margins.clustered_change`). p is that of sign flips of the items' differences
    (`stats.significance`).
    """
    if not len(after):
        return Change(None, None, None, None)
    once = np.ones(len(after))
    return Change(*clustered_change(once, before, after), sign_flip_p(after - before, once))


def change_from_random(best: Array, share: Array, n_answers: int) -> Change:
    """Return how much more often a choice is right than a random answer of the same item.

    `best` is the choice's chance of a right answer per item, and `share` the item's share of right
    answers among at most `n_answers`. Limits are Newcombe's (`stats.margins.clustered_change`). p
    is exact: the number of right random answers is a sum of independent items (Hodges and Le Cam
    1960, Ann Math Stat 31:737-740), and p is the chance that it is at least as far from its mean as
    the choice's. Signs cannot be flipped here, because where few answers are right, a right choice
    is far above the item's share and a wrong one just below it.
    """
    if not len(best):
        return Change(None, None, None, None)
    change = clustered_change(np.ones(len(best)), share, best, (n_answers, 1))
    chances = np.ones(1)
    for rate in np.sort(share):
        chances = np.convolve(chances, [1 - rate, rate])
    away = np.abs(np.arange(len(chances)) - share.sum())
    p = chances[away >= abs(best.sum() - share.sum()) - ROUNDING].sum()
    return Change(*change, float(min(p, 1)))
