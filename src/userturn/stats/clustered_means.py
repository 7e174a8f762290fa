"""Means of values that come in clusters, such as turns of one conversation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from userturn.stats.proportions import CONFIDENCE, Interval


def clustered_mean(
    values: ArrayLike, clusters: Sequence[str], confidence: float = CONFIDENCE
) -> Interval:
    """Return the mean with limits that allow for correlated values within a cluster.

    The cluster-robust variance of a mean with the factor G / (G - 1), and Student's quantile at
    G - 1 degrees of freedom for G clusters (Cameron and Miller 2015, J Human Resources 50:317-372,
    sections II and VI.A, doi:10.3368/jhr.50.2.317). With one cluster there are no limits.

    Args:
        values: one per turn, none missing.
        clusters: the cluster of each value.
        confidence: confidence of the interval.
    """
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return Interval(None, None, None)
    _, number = np.unique(np.asarray(clusters), return_inverse=True)
    order = np.lexsort((x, number))  # sums of floats depend on their order: results must not
    x, number = x[order], number[order]
    mean = float(x.mean())
    sums = np.bincount(number, weights=x - mean)
    n_clusters = len(sums)
    if n_clusters < 2:
        return Interval(mean, None, None)
    variance = n_clusters / (n_clusters - 1) * float(sums @ sums) / len(x) ** 2
    width = float(t.ppf(0.5 + confidence / 2, n_clusters - 1)) * variance**0.5
    return Interval(mean, mean - width, mean + width)
