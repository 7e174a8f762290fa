"""Exact tests of paired differences, corrections for several tests, and tests against margins."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import NamedTuple

import numpy as np

from userturn.stats.proportions import Array, Interval

GRID = 2520  # shares of up to ten turns, and their differences, are whole multiples of 1/2520
FINEST = 1000  # the largest denominator that is tried for changes
MANY = 1000  # with more distinct changes no denominator is tried
TOLERANCE = 1e-8
LONGEST = 2**20  # points of the distribution; finer changes are rounded until it fits
NEGLIGIBLE = 1e-18
SMALLEST = 1e-12  # below this a p-value is rounding of the Fourier transform
# Standard deviations beyond which a sum of flips has a chance below 1e-21 (Hoeffding's bound). Up
# to 100 changes have no sum beyond.
FARTHEST = 10


@lru_cache(10_000)
def _denominator(value: float) -> int:
    return Fraction(value).limit_denominator(FINEST).denominator


def _step(values: Array) -> int:
    """Return the least n so that all values are multiples of 1/n, or `GRID` for many values."""
    return lcm(*map(_denominator, values.tolist())) if len(values) < MANY else GRID


def _whole(values: Array, n_items: Array) -> tuple[np.ndarray, float]:
    """Return the changes as whole numbers of steps, and their total size over items in steps."""
    total = max(float(np.abs(values) @ n_items), 1e-9)
    scale = next(
        (s for s in (_step(values), GRID) if s * total <= LONGEST / 4), LONGEST / 4 / total
    )
    steps = np.rint(values * scale).astype(int)
    steps = steps // (gcd(*np.abs(steps).tolist()) or 1)
    return steps, float(np.abs(steps) @ n_items)


def is_exact(values: Array, n_items: Array) -> bool:
    """Return whether the sign-flip test is of these changes themselves, not of rounded ones."""
    steps, _ = _whole(values, n_items)
    if not steps.any():
        return not np.any(np.abs(values) > TOLERANCE)
    largest = int(np.argmax(np.abs(steps)))
    return bool(np.allclose(steps * (values[largest] / steps[largest]), values, atol=TOLERANCE))


def _least_cosine(n: float) -> float:
    """Return the cosine, without its sign, above which n flips leave more than nothing."""
    return float((NEGLIGIBLE / 2) ** (1 / max(n, 1)))


def _peaks(size: float, n: float, n_points: int) -> np.ndarray:
    """Return the points of half a spectrum at which n flips of a size leave more than nothing."""
    between = n_points / (2 * size)  # two points at which the cosine is 1 or -1
    reach = between * np.arccos(_least_cosine(n)) / np.pi
    if 2 * reach + 2 >= between:
        return np.arange(n_points // 2 + 1)
    centres = np.arange(size + 1) * between
    first = np.maximum(np.floor(centres - reach), 0).astype(int)
    last = np.minimum(np.ceil(centres + reach), n_points // 2).astype(int)
    lengths = last - first + 1
    return np.repeat(last + 1 - np.cumsum(lengths), lengths) + np.arange(lengths.sum())


def _spectrum(sizes: np.ndarray, counts: np.ndarray, n_points: int) -> tuple[np.ndarray, Array]:
    """Return the points of half a spectrum at which something is left, and what is left there.

    The spectrum is the characteristic function of the sum of flipped steps. Its powers of cosines
    are sums of logarithms, which take a third of the time.
    """
    order = [int(index) for index in np.argsort(-counts, kind="stable") if sizes[index]]
    points = _peaks(float(sizes[order[0]]), float(counts[order[0]]), n_points)
    logs, is_negative = np.zeros(len(points)), np.zeros(len(points), dtype=bool)
    for index in order:
        cosines = np.cos(2 * np.pi / n_points * points * float(sizes[index]))
        logs += counts[index] * np.log(np.abs(cosines))  # no double has a cosine of 0
        if counts[index] % 2:
            is_negative ^= cosines < 0
        is_left = logs > np.log(NEGLIGIBLE)
        points, logs, is_negative = points[is_left], logs[is_left], is_negative[is_left]
    return points, np.where(is_negative, -1.0, 1.0) * np.exp(logs)


def _chance(points: np.ndarray, values: Array, n_points: int, sums: range, seen: float) -> float:
    """Return the chance of some sums of flipped steps, the first with the weight `seen`.

    It is the Fourier transform of a spectrum, added up over the sums: of all cosines of one angle
    the sum is Dirichlet's kernel. `points` and `values` are those of `_spectrum`.
    """
    turn = np.pi / n_points * points
    ends = np.sin((2 * sums[-1] + 1) * turn) - np.sin((2 * sums[0] - 1) * turn)
    kernel = np.divide(ends, 2 * np.sin(turn), out=np.full(len(turn), 1.0 * len(sums)),
                       where=points > 0)  # fmt: skip
    kernel -= (1 - seen) * np.cos(2 * sums[0] * turn)
    is_twice = (points > 0) & (2 * points < n_points)  # in a whole spectrum
    return float(np.where(is_twice, 2.0, 1.0) * values @ kernel) / n_points


def sign_flip_p(values: Array, n_items: Array, seen: float = 1.0) -> float:
    """Return the exact two-sided p that the items' paired differences are symmetric about 0.

    `values` are the distinct differences, and `n_items` how many items have each. Under the
    hypothesis each difference is equally likely to have the opposite sign (Fisher 1935, The Design
    of Experiments, section 21). The distribution of the sum over all 2ⁿ flips follows from its
    characteristic function Π cos(ω dᵢ), on a lattice (Pagano and Tritchler 1983, JASA 78:435-440).
    With differences of -1, 0 and 1 it is McNemar's exact test. If the sum of the changes needs over
    a million lattice points, they are rounded to 1/2520 or coarser (`is_exact`). `seen` is the
    weight of the chance of the observed sum itself: 1/2 gives mid-p (Fagerland, Lydersen and Laake
    2013, BMC Med Res Methodol 13:91).
    """
    steps, reach = _whole(values, n_items)
    if reach == 0:
        return 1.0
    observed = abs(float(steps @ n_items))
    if round(observed) == 0:
        return 1.0
    reach = min(reach, FARTHEST * float(np.sqrt(steps.astype(float) ** 2 @ n_items)))
    if observed > reach:
        return SMALLEST
    n_points = 1 << int(2 * reach + 1).bit_length()
    sizes, inverse = np.unique(np.abs(steps), return_inverse=True)
    counts = np.bincount(inverse, weights=n_items)
    spectrum = _spectrum(sizes, counts, n_points)
    tail = _chance(*spectrum, n_points, range(round(observed), int(reach) + 1), seen)
    return float(min(1.0, max(2 * tail, SMALLEST)))


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


LEVEL = 0.05
PRECISION = 1e-6  # precision of a p-value

Limits = Callable[[float], Interval]  # returns the interval of a confidence; they are nested


class Margins(NamedTuple):
    """The limits between which a quantity should lie, where None is no limit."""

    lower: float | None
    upper: float | None

    def hold(self, interval: Interval) -> bool:
        """Return whether an interval lies within the margins; ValueError if it has no limits."""
        return (self.lower is None or _checked_limit(interval.lower) > self.lower) and (
            self.upper is None or _checked_limit(interval.upper) < self.upper
        )

    def miss(self, interval: Interval) -> bool:
        """Return whether an interval lies wholly outside the margins."""
        return (self.lower is not None and _checked_limit(interval.upper) < self.lower) or (
            self.upper is not None and _checked_limit(interval.lower) > self.upper
        )


class Equivalence(NamedTuple):
    """The 90% interval of a quantity, and the p of the claim that it lies within its margins."""

    interval: Interval
    p: float  # the smallest level at which the claim holds; 1 if the estimate itself is outside
    is_outside: bool  # whether the interval lies wholly outside


def _checked_limit(limit: float | None) -> float:
    if limit is None:
        raise ValueError("an interval without limits cannot be held against margins")
    return limit


def equivalence(limits: Limits, margins: Margins) -> Equivalence:
    """Test by two one-sided tests whether a quantity lies within its margins.

    A quantity is equivalent at the level α if its interval of confidence 1 - 2α lies within the
    margins (Schuirmann 1987, J Pharmacokinet Biopharm 15:657-680). A margin of None is not tested.
    A single margin gives a test of non-inferiority, or of a rate that is small enough.
    """
    interval = limits(1 - 2 * LEVEL)
    low, high = 0.0, 0.5
    if not margins.hold(limits(1 - 2 * (high - PRECISION))):
        return Equivalence(interval, 1.0, margins.miss(interval))
    while high - low > PRECISION:
        middle = (low + high) / 2
        if margins.hold(limits(1 - 2 * middle)):
            high = middle
        else:
            low = middle
    return Equivalence(interval, high, margins.miss(interval))
