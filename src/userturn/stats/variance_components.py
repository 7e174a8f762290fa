"""Variance components of two crossed factors, by symmetric sums of products.

Koch 1967, Technometrics 9:93-118: the mean products of two observations that share both factors,
only the first, only the second, or neither, each estimate a sum of components. Differences of these
means are unbiased for any numbers of observations; for equal numbers they are those of the analysis
of variance. An estimate may fall below 0 if the component is about 0.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


class Components(NamedTuple):
    """Variances of an observation; None if the design cannot separate a component from the next.

    Attributes:
        first: variance between levels of the first factor.
        second: variance between levels of the second factor.
        both: variance of their combinations, beyond the two.
        rest: variance of observations that share both levels, plus every component that is None.
    """

    first: float | None
    second: float | None
    both: float | None
    rest: float


def _mean_product(sums: int, n_pairs: int) -> float | None:
    return sums / n_pairs if n_pairs > 0 else None


def variance_components(
    first: Whole, second: Whole, n: Whole, n_positive: Whole
) -> Components | None:
    """Return the variance components of a share.

    Args:
        first: level of the first factor in each observed combination; no combination twice.
        second: level of the second factor.
        n: number of observations of the combination.
        n_positive: number of observations that are 1; the others are 0.

    Returns:
        The components; None if no two observations differ in the levels of both factors (of the
        other factor, if one has a single level).
    """
    counts, sums = (np.asarray(values, dtype=np.int64) for values in (n, n_positive))
    totals = []
    for values in (counts, sums):
        of_first, of_second = (
            np.bincount(np.unique(levels, return_inverse=True)[1], values).astype(np.int64)
            for levels in (first, second)
        )
        both, one, other, all_of_them = (
            int((v**2).sum()) for v in (values, of_first, of_second, values.sum(keepdims=True))
        )
        totals.append((both, one - both, other - both, all_of_them - one - other + both))
    # The square of an observation is not a pair.
    n_total, positive = int(counts.sum()), int(sums.sum())
    same = _mean_product(totals[1][0] - positive, totals[0][0] - n_total)
    by_first, by_second, apart = (_mean_product(totals[1][k], totals[0][k]) for k in (1, 2, 3))
    return _components(positive / n_total if n_total else 0.0, same, by_first, by_second, apart)


def _components(
    square: float,
    same: float | None,
    by_first: float | None,
    by_second: float | None,
    apart: float | None,
) -> Components | None:
    """Return components from the mean square and the mean products of pairs."""
    if apart is None:  # one factor has a single level: only the other can be separated
        between = by_first if by_first is not None else by_second
        if between is None:
            return None
        if same is None:
            return Components(None, None, None, square - between)
        level = same - between
        one, other = (None, level) if by_first is not None else (level, None)
        return Components(one, other, None, square - same)
    if by_first is None or by_second is None:
        return None
    one, other = by_first - apart, by_second - apart
    if same is None:
        return Components(one, other, None, square - by_first - by_second + apart)
    return Components(one, other, same - by_first - by_second + apart, square - same)
