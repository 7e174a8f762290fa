"""How varied the words of several texts are, with limits over the clusters of texts.

Limits are the jackknife's over clusters, with Student's quantile: each measure is computed again
without each cluster (Efron and Stein 1981, Ann Stat 9:586-596, doi:10.1214/aos/1176345462). Nothing
is resampled: a bootstrap would add copies, which these measures count.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln
from scipy.stats import t

from userturn.stats.proportions import CONFIDENCE, Array, Interval

WINDOW = 50  # words of a window of MATTR
DRAWN = 42  # words of a draw of HD-D
Counts = npt.NDArray[np.int64]
Measure = Callable[[Counts], float | None]  # of how often each word is there


class Counted(NamedTuple):
    """How often each word is in each cluster of texts, sorted by cluster: arrays of equal length.

    Attributes:
        cluster: numbers of clusters, from 0.
        word: numbers of words, from 0.
        n: how often the word is in the cluster.
    """

    cluster: Counts
    word: Counts
    n: Counts


def counted(words: npt.ArrayLike, clusters: npt.ArrayLike) -> Counted:
    """Return how often each word is in each cluster; words and clusters are numbers from 0."""
    word, cluster = (np.asarray(numbers, dtype=np.int64) for numbers in (words, clusters))
    n_words = int(word.max(initial=0)) + 1
    place, n = np.unique(cluster * n_words + word, return_counts=True)
    return Counted(place // n_words, place % n_words, n.astype(np.int64))


def distinct(n: Counts) -> float | None:
    """Return the number of different words over that of all (Li et al. 2016, arXiv:1510.03055)."""
    return float((n > 0).sum() / n.sum()) if n.sum() else None


def yules_k(n: Counts) -> float | None:
    """Return Yule's K: 10,000 (sum of n squared - N) / N squared (Yule 1944, chapter 3)."""
    total = float(n.sum())
    return float(1e4 * ((n.astype(float) ** 2).sum() - total) / total**2) if total else None


def hdd(n: Counts) -> float | None:
    """Return HD-D: the expected share of different words among 42 that are drawn.

    McCarthy and Jarvis 2007, Lang Test 24:459-488. None with fewer words.
    """
    total = int(n.sum())
    if total < DRAWN:
        return None
    often, how_many = np.unique(n[n > 0], return_counts=True)
    left = total - often
    log = gammaln(left + 1) + gammaln(total - DRAWN + 1) - gammaln(total + 1)
    can_miss = left >= DRAWN
    missed = np.where(can_miss, np.exp(log - gammaln(np.maximum(left - DRAWN, 0) + 1)), 0.0)
    return float(how_many @ (1 - missed) / DRAWN)


def over_clusters(counts: Counted, measure: Measure, most: float = 1.0) -> Interval:
    """Return a measure of all words together, at most `most`, with its 95% limits over clusters.

    There are no limits of one cluster, nor where the measure is undefined without some cluster.
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
    reach = float(t.ppf(0.5 + CONFIDENCE / 2, n_left - 1)) * error
    return Interval(estimate, max(0.0, estimate - reach), min(most, estimate + reach))


def window_shares(words: npt.ArrayLike, window: int = WINDOW) -> Array:
    """Return the share of different words in each window of neighbouring words; none if too few.

    Their mean is MATTR (Covington and McFall 2010, J Quant Linguist 17:94-100).
    """
    found = np.asarray(words, dtype=np.int64)
    if len(found) < window:
        return np.empty(0)
    order = np.lexsort((np.arange(len(found)), found))
    same = np.r_[False, np.diff(found[order]) == 0]
    before = np.full(len(found), -1)
    before[order[same]] = order[np.flatnonzero(same) - 1]
    # A word is new in a window where its last occurrence is before the window's beginning.
    view = np.lib.stride_tricks.sliding_window_view(before, window)
    begin = np.arange(len(view))[:, None]
    return np.asarray((view < begin).mean(axis=1))
