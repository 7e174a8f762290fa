"""One proportion and its interval, each formula with its source."""

from math import ceil, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating[Any]]
CONFIDENCE = 0.95


class Interval(NamedTuple):
    """An estimate with the limits of its confidence interval; all None without observations."""

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
    # For none or all the limit is the estimate itself; rounding would make it slightly different.
    seen = total > 0
    lower = np.where(seen & (positive == 0), 0.0, lower)
    upper = np.where(seen & (positive == total), 1.0, upper)
    return lower, upper


def jeffreys_limits(
    n_positive: ArrayLike, n: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Return the equal-tailed limits of Jeffreys' prior, 0 of none and 1 of all.

    Brown, Cai and DasGupta 2001, Stat Sci 16:101-133, section 4.1.2: quantiles of the beta
    distribution of n_positive + 1/2 and n - n_positive + 1/2. Of none or few they are a third
    nearer than Wilson's, so that what is put together of them is not too wide.
    """
    from scipy.special import betaincinv  # a quarter of a second, which each summary would pay

    positive, total = np.asarray(n_positive, dtype=float), np.asarray(n, dtype=float)
    tail, negative = (1 - confidence) / 2, np.maximum(total - positive, 0)
    lower, upper = (betaincinv(positive + 0.5, negative + 0.5, t) for t in (tail, 1 - tail))
    return np.where(positive <= 0, 0.0, lower), np.where(positive >= total, 1.0, upper)


def wilson(n_positive: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Return a proportion with its score interval."""
    if n == 0:
        return Interval(None, None, None)
    lower, upper = wilson_limits(n_positive, n, confidence)
    return Interval(n_positive / n, float(lower), float(upper))


def labels_to_reach(least: float, n_right: float, n: float) -> int | None:
    """Return the least number of further labels, all right, with Wilson's lower limit at `least`.

    The lower limit reaches l where p - l >= z √(l (1 - l) / n) (Wilson 1927, eq. 4). With n_wrong
    labels wrong, √n is the larger root of (1 - l) x² - z √(l (1 - l)) x - n_wrong. None if `least`
    is 1, which no number of labels reaches.
    """
    if least >= 1:
        return None
    b = quantile_of(CONFIDENCE) * sqrt(least * (1 - least))
    root = (b + sqrt(b**2 + 4 * (1 - least) * (n - n_right))) / (2 * (1 - least))
    return max(1, ceil(round(root**2 - n, 9)))


def exact_limits(interval: Interval, confidence: float) -> Interval:
    """Return the exact interval, at another confidence, of a rate with Wilson's at 0.95.

    Clopper and Pearson 1934, Biometrika 26:404-413, at the effective number of turns (Korn and
    Graubard 1998, Survey Methodology 24:193-201). At the high confidence of simultaneous intervals,
    Wilson's cover less than they claim. A limit l of the estimate p solves
    (l - p)² = z² l (1 - l) / n (Wilson's eq. 4), which gives the n of the interval.
    """
    from scipy.special import betaincinv  # a quarter of a second, which each summary would pay

    p, lower, upper = interval
    if p is None or lower is None or upper is None:
        return interval
    further = upper if upper - p > p - lower else lower
    n = quantile_of(CONFIDENCE) ** 2 * further * (1 - further) / (further - p) ** 2
    tail = (1 - confidence) / 2
    least = betaincinv(p * n, n - p * n + 1, tail) if p > 0 else 0.0
    most = betaincinv(p * n + 1, n - p * n, 1 - tail) if p < 1 else 1.0
    return Interval(p, float(least), float(most))
