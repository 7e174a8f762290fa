"""Statistics of one proportion and of many tests, each a formula with its source."""

import hashlib
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating[Any]]
CONFIDENCE = 0.95


class Interval(NamedTuple):
    """An estimate with the limits of its confidence interval; all None where nothing was seen."""

    estimate: float | None
    lower: float | None
    upper: float | None


def quantile_of(confidence: float) -> float:
    """Return the normal quantile of a two-sided interval: 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def wilson_limits(
    n_positive: ArrayLike, n: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Return the limits of the score interval (Wilson 1927, JASA 22:209-212, eq. 4).

    With z the normal quantile and p = n_positive / n, the limits are
    (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n); nan where n is 0.
    """
    positive, total = np.asarray(n_positive, dtype=float), np.asarray(n, dtype=float)
    z = quantile_of(confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = positive / total
        middle = share + z**2 / (2 * total)
        half = z * np.sqrt(share * (1 - share) / total + z**2 / (4 * total**2))
        scale = 1 + z**2 / total
        lower, upper = (middle - half) / scale, (middle + half) / scale
    # At none or all the limit is the estimate itself, which rounding would miss by a hair.
    seen = total > 0
    lower = np.where(seen & (positive == 0), 0.0, lower)
    upper = np.where(seen & (positive == total), 1.0, upper)
    return lower, upper


def wilson(n_positive: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Return a proportion with its score interval."""
    if n == 0:
        return Interval(None, None, None)
    lower, upper = wilson_limits(n_positive, n, confidence)
    return Interval(n_positive / n, float(lower), float(upper))


def generator(seed: int, *names: object) -> np.random.Generator:
    """Return a generator for one named quantity: a grown study repeats the draws of the old one."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype=np.uint32).tolist()])


def holm(p: Array) -> Array:
    """Return p-values adjusted step-down for the family's error (Holm 1979, Scand J Stat 6:65-70).

    The k-th smallest of m becomes the largest of (m - i + 1) p₍ᵢ₎ over i up to k, at most 1.
    """
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted: Array = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return np.asarray(adjusted[np.argsort(order, kind="stable")])


def benjamini_hochberg(p: Array) -> Array:
    """Return p-values adjusted for the share of false discoveries.

    Benjamini and Hochberg 1995, J R Stat Soc B 57:289-300: the k-th smallest of m becomes the
    smallest of m p₍ᵢ₎ / i over i from k on, at most 1.
    """
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted: Array = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return np.asarray(adjusted[np.argsort(order, kind="stable")])
