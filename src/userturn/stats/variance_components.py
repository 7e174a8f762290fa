"""Variance components of two crossed factors, by symmetric sums of products.

Koch 1967, Technometrics 9:93-118: the mean products of two observations that share both factors,
only the first, only the second, or neither, each estimate a sum of components. Differences of these
means are unbiased for any numbers of observations; for equal numbers they are those of the analysis
of variance. An estimate may fall below 0 if the component is about 0.

Limits are those of a draw of clusters, such as items; the levels of the first factor, such as
models, are taken as they are. The jackknife leaves out each cluster in turn (Tukey 1958, Ann Math
Stat 29:614; Efron and Stein 1981, Ann Stat 9:586-596), with Student's quantile. Those of the first
factor are of the distance of its levels' means, squared.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from userturn.stats.arrays import Floats
from userturn.stats.proportions import CONFIDENCE, Interval

Whole = NDArray[np.int64]


class Observed(NamedTuple):
    """Observed combinations of two factors, as arrays of equal length; no combination twice.

    Attributes:
        first: level of the first factor, whose levels are taken as they are.
        second: level of the second factor; each lies in one cluster.
        clusters: what was drawn independently.
        n: number of observations of the combination.
        n_positive: number of observations that are 1; the others are 0.
    """

    first: Whole
    second: Whole
    clusters: Whole
    n: Whole
    n_positive: Whole

    @property
    def numbered(self) -> "Observed":
        """Return the same with levels and clusters numbered from 0."""
        codes = (np.unique(levels, return_inverse=True)[1] for levels in self[:3])
        return Observed(*codes, *(np.asarray(values, dtype=np.int64) for values in self[3:]))


class Components(NamedTuple):
    """Variances of an observation; without estimate if the design cannot separate one from another.

    Attributes:
        first: variance between levels of the first factor.
        second: variance between levels of the second factor.
        both: variance of their combinations, beyond the two.
        rest: variance of observations that share both levels, plus every component that is None.
    """

    first: Interval
    second: Interval
    both: Interval
    rest: Interval


def variance_components(seen: Observed) -> Components | None:
    """Return the variance components of a share, with 95% limits over clusters.

    An estimate has no limits if it is undefined without one of the clusters.

    Returns:
        The components; None if no two observations differ in the levels of both factors (of the
        other factor, if one has a single level).
    """
    if not len(seen.n):
        return None
    data = seen.numbered
    found = _estimates(data)
    if np.isnan(found[0]).all():
        return None
    first, *others = _limits(found, _variances(data, found))
    return Components(_between(data, first.estimate), *others)


def _limits(found: Floats, variances: Floats) -> list[Interval]:
    """Return estimates with their limits, from the estimates without each cluster."""
    quantile = float(stdtrit(len(found) - 2, (1 + CONFIDENCE) / 2)) if len(found) > 2 else np.nan
    widths = quantile * np.sqrt(variances)
    return [
        Interval(None, None, None)
        if np.isnan(value)
        else Interval(float(value), None, None)
        if np.isnan(width)
        else Interval(float(value), float(value - width), float(value + width))
        for value, width in zip(found[0], widths, strict=True)
    ]


def _variances(data: Observed, found: Floats) -> Floats:
    """Return the variance of each estimate over clusters, by the jackknife.

    Half a cluster of one level of the second factor is added of each kind: all its observations are
    1, none is, half of each combination are, those of one level of the first factor alone are. So
    components are not certain where all observations are alike.
    """
    n_clusters = len(found) - 1
    if n_clusters < 2:
        return np.full(4, np.nan)
    n_first = int(data.first.max()) + 1
    pulls = (n_clusters - 1) * (found[0] - found[1:])
    squares = ((pulls - pulls.mean(0)) ** 2).sum(0)
    kinds = [(np.full(n_first, share), 0.5) for share in (1.0, 0.0, 0.5)]
    kinds += [(alone, 0.5 / n_first) for alone in np.eye(n_first)]
    for shares, weight in kinds:
        moved = _estimates(_one_more(data, shares), each=False)[0] - found[0]
        squares += weight * ((n_clusters + 1) * moved) ** 2
    return np.asarray(squares / (n_clusters * (n_clusters - 1)))


def _one_more(data: Observed, shares: Floats) -> Observed:
    """Return the observations with one more cluster, with this share of 1 in each combination."""
    levels = np.arange(len(shares))
    turns = max(1, round(float(data.n.mean())))
    places = (np.full(len(levels), codes.max() + 1) for codes in data[1:3])
    counts = np.full(len(levels), turns), (turns * shares).astype(np.int64)
    new = (levels, *places, *counts)
    return Observed(*(np.concatenate(columns) for columns in zip(data, new, strict=True)))


def _chance_between(data: Observed) -> tuple[float, float]:
    """Return what the draw of clusters adds to the variance of the first factor's means.

    The mean over all directions in which the means may differ, and that in the direction in which
    they do if it is larger. Half a cluster in which one level alone is positive is in both.
    """
    totals, sums = (_by_first(data, values) for values in data[3:])
    n_first = sums.shape[1]
    if n_first < 2:
        return 0.0, 0.0
    means = sums.sum(0) / totals.sum(0)
    moved = (sums - totals * means) / totals.sum(0)
    apart, place = moved - moved.mean(1, keepdims=True), means - means.mean()
    alone = 0.5 / n_first / (len(sums) + 1) ** 2
    all_ways = float((apart**2).sum()) / (n_first - 1) + alone
    length = float(place @ place)
    one_way = float(((apart @ place) ** 2).sum()) / length + alone if length > 1e-12 else 0.0
    return all_ways, max(all_ways, one_way)


def _between(data: Observed, estimate: float | None) -> Interval:
    """Return the variance between levels of the first factor with its limits.

    The means of m levels lie at a distance from each other whose square, over m - 1, is estimated:
    the limits are those of the distance, squared. For two levels they are exact where their
    difference is normal; a variance that is nearly 0 has a skewed estimate, which this follows.
    """
    n_clusters, n_first = int(data.clusters.max()) + 1, int(data.first.max()) + 1
    if estimate is None or n_first < 2 or n_clusters < 3:
        return Interval(estimate, None, None)
    all_ways, one_way = _chance_between(data)
    middle = max(0.0, estimate + all_ways / (n_first - 1)) ** 0.5
    width = float(stdtrit(n_clusters - 1, (1 + CONFIDENCE) / 2)) * (one_way / (n_first - 1)) ** 0.5
    lower, upper = max(0.0, middle - width) ** 2, (middle + width) ** 2
    return Interval(estimate, min(lower, estimate), upper)


def _by_first(data: Observed, values: Whole) -> Whole:
    """Return the sums of each cluster and level of the first factor: clusters x levels."""
    found = np.zeros((int(data.clusters.max()) + 1, int(data.first.max()) + 1), dtype=np.int64)
    np.add.at(found, (data.clusters, data.first), values)
    return found


def _products(data: Observed, values: Whole, each: bool) -> Whole:
    """Return sums of products of pairs that share both, the first, the second level, or neither.

    The first row is over all clusters; with `each`, the others are without each cluster in turn.
    The square of an observation is a pair here.
    """
    by_first = _by_first(data, values)
    of_first, of_cluster = by_first.sum(0), by_first.sum(1)
    of_second = np.zeros(int(data.second.max()) + 1, dtype=np.int64)
    np.add.at(of_second, data.second, values)
    place = np.zeros_like(of_second)
    place[data.second] = data.clusters
    both, other = np.zeros((2, len(of_cluster)), dtype=np.int64)
    np.add.at(both, data.clusters, values**2)
    np.add.at(other, place, of_second**2)
    rows = [[both.sum(), (of_first**2).sum(), other.sum(), of_cluster.sum() ** 2]]
    sums = np.array(rows, dtype=np.int64)
    if each:
        one = ((of_first - by_first) ** 2).sum(1)
        left = [both.sum() - both, one, other.sum() - other, (of_cluster.sum() - of_cluster) ** 2]
        sums = np.vstack([sums, np.column_stack(left)])
    shared, first, second, total = sums.T
    pairs = [shared, first - shared, second - shared, total - first - second + shared]
    return np.column_stack(pairs)


def _estimates(data: Observed, each: bool = True) -> Floats:
    """Return components with all clusters and, with `each`, without each; NaN for None."""
    counts, sums = (_products(data, values, each) for values in data[3:])
    n_total, positive = (
        np.concatenate([[values.sum()], values.sum() - _by_first(data, values).sum(1)])[: len(sums)]
        for values in data[3:]
    )
    counts[:, 0] -= n_total  # the square of an observation is not a pair
    sums[:, 0] -= positive
    products = np.where(counts > 0, sums / np.where(counts > 0, counts, 1), np.nan)
    square = np.where(n_total > 0, positive / np.where(n_total > 0, n_total, 1), np.nan)
    return _separated(square, *products.T)


def _separated(
    square: Floats, same: Floats, by_first: Floats, by_second: Floats, apart: Floats
) -> Floats:
    """Return components from the mean square and the mean products of pairs.

    What the design of the first row can separate is asked of the others too.
    """
    none = np.full(len(square), np.nan)
    if np.isnan(apart[0]):  # one factor has a single level: only the other can be separated
        between = by_second if np.isnan(by_first[0]) else by_first
        if np.isnan(between[0]):
            return np.column_stack([none] * 4)
        if np.isnan(same[0]):
            return np.column_stack([none, none, none, square - between])
        level = [none, same - between] if between is by_first else [same - between, none]
        return np.column_stack([*level, none, square - same])
    one, other = by_first - apart, by_second - apart
    mixed = by_first + by_second - apart
    if np.isnan(same[0]):
        return np.column_stack([one, other, none, square - mixed])
    return np.column_stack([one, other, same - mixed, square - same])
