"""Corrections for multiple tests: Holm, and Benjamini and Hochberg."""

import numpy as np

from userturn.stats.proportions import Array


def holm(p: Array) -> Array:
    """Return p-values adjusted for family-wise error (Holm 1979, Scand J Stat 6:65-70).

    The k-th smallest of m becomes the largest of (m - i + 1) p₍ᵢ₎ over i up to k, at most 1.
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted: Array = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return np.asarray(adjusted[np.argsort(order, kind="stable")])


def benjamini_hochberg(p: Array) -> Array:
    """Return p-values adjusted for the false discovery rate.

    Benjamini and Hochberg 1995, J R Stat Soc B 57:289-300: the k-th smallest of m becomes the
    smallest of m p₍ᵢ₎ / i over i from k on, at most 1.
    """
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted: Array = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return np.asarray(adjusted[np.argsort(order, kind="stable")])
