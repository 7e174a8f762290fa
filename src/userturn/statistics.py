"""Statistics, each a formula with its source."""

from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """An estimate with the limits of its confidence interval; all None where nothing was seen."""

    estimate: float | None
    lower: float | None
    upper: float | None


def wilson(n_positive: int, n: int, confidence: float = 0.95) -> Interval:
    """Return a proportion with its score interval (Wilson 1927, JASA 22:209-212, eq. 4).

    With z the normal quantile and p = n_positive / n, the limits are
    (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n).
    """
    if n == 0:
        return Interval(None, None, None)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = n_positive / n
    middle = share + z**2 / (2 * n)
    half = z * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    scale = 1 + z**2 / n
    # At none or all the limit is the estimate itself, which rounding would miss by a hair.
    lower = 0.0 if n_positive == 0 else (middle - half) / scale
    upper = 1.0 if n_positive == n else (middle + half) / scale
    return Interval(share, lower, upper)
