"""Means of values, and how varied words are, over clusters such as the turns of a conversation.

Limits of the variety of words are the jackknife's over clusters, with Student's quantile: each
measure is computed again without each cluster (Efron and Stein 1981, Ann Stat 9:586-596,
doi:10.1214/aos/1176345462). Nothing is resampled: a bootstrap would add copies, which these
measures count.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from userturn.stats.proportions import CONFIDENCE, Array, Interval, student_of

NEGLIGIBLE = 1e-9  # a smaller skewness, or spread against the mean, is rounding


class _Mean(NamedTuple):
    """A mean, its standard error, its skewness over the root of `n`, and `n`, the clusters."""

    mean: float
    error: float
    skewness: float
    n_clusters: int


def clustered_mean(
    values: ArrayLike, clusters: Sequence[str], confidence: float = CONFIDENCE
) -> Interval:
    """Return a mean with limits that allow for correlation within clusters and for skewness.

    `values` are one per turn, none missing. The variance is cluster-robust with the factor G / (G -
    1), and the quantile is Student's at G - 1 degrees of freedom for G clusters (Cameron and Miller
    2015, J Human Resources 50:317-372, sections II and VI.A, doi:10.3368/jhr.50.2.317). Gains are
    skewed, which puts these limits too near on the side of the long tail. A transformation removes
    the skewness of the clusters' sums (Hall 1992, J R Stat Soc B 54:221-228, equation 1.4), but its
    limits are too near where both tails are long. So each limit is the farther one of the two
    methods. Where a few values make up nearly all of the mean, no limits are valid (Bahadur and
    Savage 1956, Ann Math Stat 27:1115-1122). With one cluster there are no limits.
    """
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return Interval(None, None, None)
    estimate = _mean(x, clusters)
    if estimate.n_clusters < 2:
        return Interval(estimate.mean, None, None)
    quantile = student_of(confidence, estimate.n_clusters)
    most = max(quantile, _skewed_back(quantile, estimate.skewness))
    least = min(-quantile, _skewed_back(-quantile, estimate.skewness))
    mean, error = estimate.mean, estimate.error
    return Interval(mean, mean - most * error, mean - least * error)


def mean_p(values: ArrayLike, clusters: Sequence[str]) -> float:
    """Return the two-sided p that the mean is 0: the level at which its limits reach 0.

    With one cluster p is 1. If all values are equal there is no spread to test against, and p is
    the chance that all clusters have the same sign.
    """
    mean, error, a, n_clusters = _mean(np.asarray(values, dtype=np.float64), clusters)
    if n_clusters < 2 or mean == 0:
        return 1.0
    if error <= NEGLIGIBLE * abs(mean):
        return float(2.0 ** (1 - n_clusters))
    return float(studentised_p(np.array(mean / error), np.array(a), n_clusters))


def studentised_p(statistic: Array, skewness: Array, n_clusters: int) -> Array:
    """Return the two-sided p of studentised means over clusters, given their skewness.

    It is the larger of Student's p and the p after Hall's transformation. All means are over
    `n_clusters` clusters.
    """
    from scipy.stats import t  # seconds

    a = skewness
    straight = statistic + a * statistic**2 / 3 + a**2 * statistic**3 / 27 + a / 6
    nearest = np.minimum(statistic * np.sign(statistic), straight * np.sign(statistic))
    return np.asarray(np.minimum(1.0, 2 * t.sf(nearest, n_clusters - 1)))


def _mean(x: np.ndarray, clusters: Sequence[str]) -> _Mean:
    _, number = np.unique(np.asarray(clusters), return_inverse=True)
    order = np.lexsort((x, number))  # sums of floats depend on their order: results must not
    x, number = x[order], number[order]
    mean = float(x.mean())
    sums = np.bincount(number, weights=x - mean)
    n, square = len(sums), float(sums @ sums)
    if n < 2 or square == 0:
        return _Mean(mean, 0.0, 0.0, n)
    error = float((n / (n - 1) * square) ** 0.5 / len(x))
    return _Mean(mean, error, float((sums**3).sum()) / square**1.5, n)


def _skewed_back(z: float, a: float) -> float:
    """Return the studentised mean that Hall's transformation maps to z."""
    return z if abs(a) < NEGLIGIBLE else float(3 / a * (np.cbrt(1 + a * (z - a / 6)) - 1))


WINDOW = 50  # words of a window of MATTR
DRAW_SIZE = 42  # words of a draw of HD-D
Counts = npt.NDArray[np.int64]
Measure = Callable[[Counts], float | None]  # of the counts of words


class Counted(NamedTuple):
    """The counts of each word in each cluster of texts, sorted by cluster: arrays of one length."""

    cluster: Counts  # numbers of clusters, from 0
    word: Counts  # numbers of words, from 0
    n: Counts  # how often the word is in the cluster


def counted(words: npt.ArrayLike, clusters: npt.ArrayLike) -> Counted:
    """Return the count of each word in each cluster, both given as numbers from 0."""
    word, cluster = (np.asarray(numbers, dtype=np.int64) for numbers in (words, clusters))
    n_words = int(word.max(initial=0)) + 1
    pairs, n = np.unique(cluster * n_words + word, return_counts=True)
    return Counted(pairs // n_words, pairs % n_words, n.astype(np.int64))


def distinct(n: Counts) -> float | None:
    """Return different words over all words, or None without any (Li et al., arXiv:1510.03055)."""
    return float((n > 0).sum() / n.sum()) if n.sum() else None


def yules_k(n: Counts) -> float | None:
    """Return Yule's K (1944, chapter 3): 10,000 (Σn² - N) / N² for counts n of N words, or None."""
    total = float(n.sum())
    return float(1e4 * ((n.astype(float) ** 2).sum() - total) / total**2) if total else None


def hdd(n: Counts) -> float | None:
    """Return HD-D: the expected share of different words among 42 random words.

    McCarthy and Jarvis 2007, Lang Test 24:459-488. None for fewer than 42 words.
    """
    from scipy.special import gammaln  # slow to import, too

    total = int(n.sum())
    if total < DRAW_SIZE:
        return None
    often, how_many = np.unique(n[n > 0], return_counts=True)
    left = total - often
    log = gammaln(left + 1) + gammaln(total - DRAW_SIZE + 1) - gammaln(total + 1)
    can_miss = left >= DRAW_SIZE
    missed = np.where(can_miss, np.exp(log - gammaln(np.maximum(left - DRAW_SIZE, 0) + 1)), 0.0)
    return float(how_many @ (1 - missed) / DRAW_SIZE)


def jackknife_interval(counts: Counted, measure: Measure, most: float = 1.0) -> Interval:
    """Return a measure of all words together with its 95% limits over clusters, from 0 to `most`.

    There are no limits with one cluster, nor where the measure is undefined without some cluster.
    """
    cluster, word, n = counts
    whole = np.bincount(word, n).astype(np.int64)
    estimate = measure(whole)
    without = [
        measure(whole - np.bincount(word[part], n[part], len(whole)).astype(np.int64))
        for part in np.split(np.arange(len(n)), np.flatnonzero(np.diff(cluster)) + 1)
    ]
    left = np.array([value for value in without if value is not None])
    if estimate is None or len(left) < max(2, len(without)):
        return Interval(estimate, None, None)
    n_left = len(left)
    error = float(((n_left - 1) / n_left * ((left - left.mean()) ** 2).sum()) ** 0.5)
    reach = student_of(CONFIDENCE, n_left) * error
    return Interval(estimate, max(0.0, estimate - reach), min(most, estimate + reach))


def window_shares(words: npt.ArrayLike, window: int = WINDOW) -> Array:
    """Return the share of different words in each window of neighbouring words.

    The mean of the shares is MATTR (Covington and McFall 2010, J Quant Linguist 17:94-100). The
    array is empty if there are fewer words than a window has.
    """
    codes = np.asarray(words, dtype=np.int64)
    if len(codes) < window:
        return np.empty(0)
    order = np.lexsort((np.arange(len(codes)), codes))
    same = np.r_[False, np.diff(codes[order]) == 0]
    before = np.full(len(codes), -1)
    before[order[same]] = order[np.flatnonzero(same) - 1]
    # A word is new in a window where its last occurrence is before the window's beginning.
    view = np.lib.stride_tricks.sliding_window_view(before, window)
    begin = np.arange(len(view))[:, None]
    return np.asarray((view < begin).mean(axis=1))
