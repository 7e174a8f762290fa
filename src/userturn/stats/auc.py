"""The area under the ROC curve of a score, with limits for turns that come in clusters."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from userturn.stats.clustered import copies
from userturn.stats.proportions import CONFIDENCE, Array, Interval, quantile_of

Mask = NDArray[np.bool_]
NEGLIGIBLE = 1e-12  # nearer to 0 or 1 is rounding


def clustered_auc(
    scores: ArrayLike, positive: ArrayLike, clusters: Sequence[str], confidence: float = CONFIDENCE
) -> Interval:
    """Return the chance that a positive scores higher than a negative; ties count as half.

    The limits are score limits: all areas A with (A - area)² <= z² V(A), where V is Hanley and
    McNeil's variance (1982, Radiology 143:29-36) at the mean of both numbers (Newcombe 2006, Stat
    Med 25:559-573, method 5), so there are some at an area of 0 or 1, too. Both numbers are divided
    by how much larger the variance of the clusters' placements is than V at the area: it is
    Obuchowski's (1997, Biometrics 53:567-578, section 3), that of DeLong et al. (1988, Biometrics
    44:837-845) where every cluster has one turn. There are none with fewer than two clusters of
    either kind.

    Args:
        scores: one per turn, none missing.
        positive: whether each turn is positive.
        clusters: the cluster of each turn.
        confidence: confidence of the interval.
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
        effect = _variance(placements - area, is_positive, names) / _of_area(area, *sizes)
        sizes /= max(1.0, effect)
    else:  # nothing varies, so that turns of a cluster may all say the same
        sizes = np.array(fewest, float)
    z = quantile_of(confidence)
    return Interval(area, *(_farthest(area, end, z, sizes) for end in (0.0, 1.0)))


def _of_area(area: float, m: float, n: float) -> float:
    """Return the variance of an area of m positives and n negatives that come one by one."""
    others = max(0.0, (m + n) / 2 - 1)
    extra = others * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * (1 + extra) / (m * n)


def _farthest(area: float, end: float, z: float, sizes: Array) -> float:
    """Return the area farthest towards an end that is not rejected."""
    inside = area
    for _ in range(50):
        middle = (inside + end) / 2
        is_near = (middle - area) ** 2 <= z**2 * _of_area(middle, *sizes)
        inside, end = (middle, end) if is_near else (inside, middle)
    return inside


def _placements(x: Array, is_positive: Mask) -> Array:
    """Return of each turn the share of the other kind that it is on the right side of."""
    found = np.empty(len(x))
    ranks = rankdata(x)
    for kind, right in ((is_positive, 1), (~is_positive, -1)):
        below = ranks[kind] - rankdata(x[kind])  # of the other kind; ties count as half
        share = below / (~kind).sum()
        found[kind] = share if right > 0 else 1 - share
    return found


def _variance(excess: Array, is_positive: Mask, clusters: np.ndarray) -> float:
    """Return the variance of the area, of two clusters of either kind or more."""
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
