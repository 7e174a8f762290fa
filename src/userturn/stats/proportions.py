"""Rates with their intervals: of independent turns, of turns that share items, and sums of rates.

Items with the same counts are exchangeable, so they are given as counted patterns. Nothing is
random: equal counts have equal limits in every table.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike, NDArray

Floats = npt.NDArray[np.float64]


Array = NDArray[np.floating[Any]]
CONFIDENCE = 0.95


class Interval(NamedTuple):
    """An estimate with its confidence limits, which may be None; all are without observations."""

    estimate: float | None
    lower: float | None
    upper: float | None


def quantile_of(confidence: float) -> float:
    """Return the normal quantile of a two-sided interval: 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def student_of(confidence: float, n: int) -> float:
    """Return Student's quantile of the two-sided interval of a mean of n values."""
    from scipy.stats import t  # seconds, which each summary would pay

    return float(t.ppf(0.5 + confidence / 2, n - 1))


def wilson_limits(
    n_positive: ArrayLike, n: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Return the limits of the score interval (Wilson 1927, JASA 22:209-212, eq. 4).

    With z the normal quantile and p = n_positive / n, the limits are (p + z²/2n ± z √(p(1-p)/n +
    z²/4n²)) / (1 + z²/n), and nan where n is 0.
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
    """Return the equal-tailed limits of Jeffreys' prior, with 0 for none and 1 for all positive.

    They are quantiles of the beta distribution of n_positive + 1/2 and n - n_positive + 1/2 (Brown,
    Cai and DasGupta 2001, Stat Sci 16:101-133, section 4.1.2). For no or few positive turns they
    are a third nearer than Wilson's, so that combinations of them are not too wide.
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
    """Return the least number of further right labels that lift Wilson's lower limit to `least`.

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
    """Return the exact interval at `confidence` of a rate whose Wilson interval at 0.95 is given.

    It is that of Clopper and Pearson (1934, Biometrika 26:404-413) at the effective number of turns
    (Korn and Graubard 1998, Survey Methodology 24:193-201). At the high confidence of simultaneous
    intervals, Wilson's cover less than they claim. A limit l of the estimate p solves (l - p)² = z²
    l (1 - l) / n (Wilson's eq. 4), which gives the n of the interval.
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


def combine(
    parts: Sequence[Interval], coefficients: Array, correlations: Array | None = None
) -> Interval:
    """Return a linear combination of estimates with its limits.

    This is MOVER, the method of variance estimates recovery: the squared distance from each
    estimate to the limit on the relevant side stands for its variance (Zou and Donner 2008, Stat
    Med 27:1693-1702; for correlated sums of more than two, Zou, Huang and Zhang 2009, Comput Stat
    Data Anal 53:1080-1085). With coefficients -1 and 1 and Wilson's limits of one table's margins
    it is Newcombe's method 10. A part without limits counts as certain. Without `correlations` the
    parts are independent.
    """
    values = np.array([part.estimate for part in parts], dtype=float)
    limits = np.array(
        [
            (p.estimate, p.estimate) if p.lower is None or p.upper is None else (p.lower, p.upper)
            for p in parts
        ],
        dtype=float,
    )
    related = np.eye(len(parts)) if correlations is None else correlations
    down = np.where(coefficients > 0, values - limits[:, 0], values - limits[:, 1]) * coefficients
    up = np.where(coefficients > 0, limits[:, 1] - values, limits[:, 0] - values) * coefficients
    signs = np.sign(coefficients)
    # Distances have no sign, so terms of opposite signs flip the sign of their correlation.
    turned = related * np.outer(signs, signs)
    below, above = (float(np.sqrt(max(0.0, float(d @ turned @ d)))) for d in (down, up))
    estimate = float(values @ coefficients)
    return Interval(estimate, estimate - below, estimate + above)


WHOLE = 1e-9  # a count farther from a whole number is none
Limits = Callable[[ArrayLike, ArrayLike, float], tuple[Array, Array]]


class Patterns(NamedTuple):
    """Items of one dataset, counted by their numbers of turns, in arrays of equal length."""

    n_items: Array
    n_scored: Array
    n_positive: Array

    @property
    def seen(self) -> "Patterns":
        """The items with a scored turn."""
        is_scored = self.n_scored > 0
        return Patterns(*(values[is_scored] for values in self))

    @property
    def total_scored(self) -> float:
        """The number of scored turns."""
        return float(self.n_items @ self.n_scored)

    @property
    def total_positive(self) -> float:
        """The number of positive turns."""
        return float(self.n_items @ self.n_positive)


_has_copies: ContextVar[bool] = ContextVar("has_copies")  # of the study that tables are made of


@contextmanager
def rows_have_copies(there_are: bool) -> Iterator[None]:
    """Set for this block whether `copies` looks for copied rows."""
    token = _has_copies.set(there_are)
    try:
        yield
    finally:
        _has_copies.reset(token)


def copies(*counts: ArrayLike) -> float:
    """Return how many copies each row has: the greatest common divisor of all counts.

    Where every row is there k times, with its verdict, k turns are worth one, even where the turns
    of an item vary more than by chance. The result is 1 in a study without copies, whose items may
    have equally many turns by chance, and where a count is no whole number.
    """
    if not _has_copies.get(False):
        return 1.0
    flat = np.concatenate([np.ravel(values) for values in counts])
    whole = np.rint(flat)
    is_whole = bool(np.all(np.abs(flat - whole) < WHOLE))
    return max(1.0, float(np.gcd.reduce(whole.astype(np.int64)))) if is_whole else 1.0


def design_effect(patterns: Patterns, least: float = 1.0) -> float:
    """Return the design effect of shared items: a rate's variance over items by that over turns.

    It is the variance of a linearised ratio (Kish 1965, Survey Sampling, section 6.3). One item is
    added, half of it all positive and half of it without a positive turn, as Jeffreys' prior adds
    half a turn. So where every turn is alike the effect is the number of turns per item, and where
    each item has one turn it is 1. Each item has a scored turn. The effect is never below `least`,
    which may be 1/k where counts are shares of k turns.
    """
    n, m, y = patterns
    mean = patterns.total_scored / n.sum()
    turns = patterns.total_scored + mean
    rate = (patterns.total_positive + mean / 2) / turns
    spread = float(n @ (y - rate * m) ** 2) + mean**2 * ((1 - rate) ** 2 + rate**2) / 2
    return max(least, float(spread / (turns * rate * (1 - rate))))


def pooled_rate(
    patterns: Patterns,
    least: float = 1.0,
    confidence: float = CONFIDENCE,
    limits: Limits = wilson_limits,
) -> Interval:
    """Return a rate with limits (by default Wilson's) at the effective number of turns.

    The score interval at an effective sample size is from Dean and Pagano 2015, J Surv Stat
    Methodol 3:484-503, doi:10.1093/jssam/smv024. `least` is that of `design_effect`.
    """
    share, worth = share_and_worth(patterns, least)
    # Share first, or rounding would make a rate of 1 slightly different.
    lower, upper = limits(share * worth, worth, confidence)
    return Interval(share, float(lower), float(upper))


def share_and_worth(patterns: Patterns, least: float = 1.0) -> tuple[float, float]:
    """Return the share of positive turns, and the effective number of turns.

    `least` is that of `design_effect`. Each item has a scored turn.
    """
    scored, once = patterns.total_scored, copies(*patterns[1:])
    worth = scored / design_effect(patterns, least * once if least <= 1 else max(least, once))
    return patterns.total_positive / scored, worth


def clustered_rate(
    datasets: Sequence[Patterns], average: str, confidence: float = CONFIDENCE
) -> tuple[Interval, str]:
    """Return a rate over datasets with its interval, and the name of the interval.

    `micro` pools all turns, with Wilson's interval if each item was scored once, else the one at
    the effective number of turns. `macro` is the mean of the datasets' rates. Their Jeffreys limits
    are combined by MOVER (`proportions.combine`), so a dataset at 0 or 1 is not certain.
    """
    seen = [scored for patterns in datasets if len((scored := patterns.seen).n_items)]
    if not seen:
        return Interval(None, None, None), "none"
    once = all(patterns.n_scored.max() <= 1 for patterns in seen)
    if average == "macro" and len(seen) > 1:
        rates = [pooled_rate(patterns, 1.0, confidence, jeffreys_limits) for patterns in seen]
        return combine(rates, np.full(len(rates), 1 / len(rates))), "MOVER over datasets"
    all_of_them = Patterns(*(np.concatenate(columns) for columns in zip(*seen, strict=True)))
    if once:
        n_positive, n_scored = round(all_of_them.total_positive), round(all_of_them.total_scored)
        return wilson(n_positive, n_scored, confidence), "Wilson"
    return pooled_rate(all_of_them, confidence=confidence), "Wilson over items"
