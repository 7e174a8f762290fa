"""Means of values that come in clusters, such as turns of one conversation, under heavy tails."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from userturn.stats.proportions import CONFIDENCE, Array, Interval

NEGLIGIBLE = 1e-9  # a smaller skewness, or spread against the mean, is rounding


class _Mean(NamedTuple):
    """A mean, its standard error, its skewness over the root of the clusters, and their number."""

    mean: float
    error: float
    skewness: float
    n_clusters: int


def clustered_mean(
    values: ArrayLike, clusters: Sequence[str], confidence: float = CONFIDENCE
) -> Interval:
    """Return the mean with limits that allow for correlated values within a cluster, and skewness.

    The cluster-robust variance of a mean with the factor G / (G - 1), and Student's quantile at
    G - 1 degrees of freedom for G clusters (Cameron and Miller 2015, J Human Resources 50:317-372,
    sections II and VI.A, doi:10.3368/jhr.50.2.317). Gains are skewed, and then these limits are too
    near on the side of the long tail; those after the transformation that takes the skewness of the
    clusters' sums away (Hall 1992, J R Stat Soc B 54:221-228, equation 1.4) are too near where both
    tails are long. At either end the farther of the two holds. With one cluster there are none.

    Args:
        values: one per turn, none missing.
        clusters: the cluster of each value.
        confidence: confidence of the interval.
    """
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return Interval(None, None, None)
    found = _mean(x, clusters)
    if found.n_clusters < 2:
        return Interval(found.mean, None, None)
    quantile = float(t.ppf(0.5 + confidence / 2, found.n_clusters - 1))
    most = max(quantile, _skewed_back(quantile, found.skewness))
    least = min(-quantile, _skewed_back(-quantile, found.skewness))
    mean, error = found.mean, found.error
    return Interval(mean, mean - most * error, mean - least * error)


def mean_p(values: ArrayLike, clusters: Sequence[str]) -> float:
    """Return the two-sided p that the mean is 0: the level at which its limits reach 0.

    1 with one cluster. Values that are all alike have no spread to go by, so their p is that of all
    clusters having one sign by chance.
    """
    mean, error, a, n_clusters = _mean(np.asarray(values, dtype=np.float64), clusters)
    if n_clusters < 2 or mean == 0:
        return 1.0
    if error <= NEGLIGIBLE * abs(mean):
        return float(2.0 ** (1 - n_clusters))
    return float(studentised_p(np.array(mean / error), np.array(a), n_clusters))


def studentised_p(statistic: Array, skewness: Array, n_clusters: int) -> Array:
    """Return the two-sided p of studentised means of as many clusters each, and of their skewness.

    The larger of Student's and that after Hall's transformation.
    """
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
    """Return the studentised mean that Hall's transformation brings to z."""
    return z if abs(a) < NEGLIGIBLE else float(3 / a * (np.cbrt(1 + a * (z - a / 6)) - 1))
