"""Odds ratios of two things that are right or wrong, over items, by exact conditional limits.

Given the margins of a 2x2 table the number of items that are both follows a noncentral
hypergeometric distribution, which the odds ratio alone decides (Fisher 1935, J R Stat Soc
98:39-82); over tables the numbers are added up (Gart 1970, Biometrika 57:471-475). So there are
limits wherever the data could have been different, also where a combination was never seen.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln  # scipy.stats takes seconds to import

from userturn.stats.proportions import CONFIDENCE, Array

FARTHEST = 40.0  # log odds ratios are looked for between minus and plus this
STEPS = 45  # halvings of that range
NEGLIGIBLE = 1e-40  # chances below, at an odds ratio near the one that was seen, count as none


class Odds(NamedTuple):
    """Odds ratio over tables with its limits, phi of the tables' sum, and p; None has a reason.

    The ratio and its upper limit are infinite where as many as possible are both.
    """

    odds_ratio: float | None
    lower: float | None
    upper: float | None
    phi: float | None
    p: float | None
    reason: str | None


def common_odds_ratio(tables: Array, confidence: float = CONFIDENCE) -> Odds:
    """Return the common odds ratio of 2x2 tables, and the test that it is 1.

    The estimate is the conditional maximum likelihood's. Limits and p count what was seen by half
    (mid-p: Mehta and Walsh 1992, Am Stat 46:146-150): limits that count it whole hold .95 to 1.0
    of odds ratios of rare turns and are an eighth wider.

    Args:
        tables: n_tables x 4: both, only the first, only the second, neither.
        confidence: of the interval.
    """
    numbers, log_chances = _numbers_of_both(tables)
    phi = _phi(*tables.sum(0).astype(float))
    if len(numbers) < 2:
        return Odds(None, None, None, phi, None, "one of the two is the same for every item")
    seen = float(tables[:, 0].sum())

    def tails(theta: float) -> tuple[float, float, float]:
        """Return the chances of fewer and of more than was seen, this by half, and the mean."""
        chances = np.exp(log_chances + theta * numbers - np.max(log_chances + theta * numbers))
        chances /= chances.sum()
        half = float(chances[numbers == seen].sum()) / 2
        fewer, more = (float(chances[side].sum()) for side in (numbers < seen, numbers > seen))
        return fewer + half, more + half, float(chances @ numbers)

    tail = (1 - confidence) / 2
    ends = seen == numbers[0], seen == numbers[-1]
    lower = 0.0 if ends[0] else _largest(lambda theta: tails(theta)[1] <= tail)
    upper = np.inf if ends[1] else _largest(lambda theta: tails(theta)[0] >= tail)
    ratio = 0.0 if ends[0] else np.inf if ends[1] else _largest(lambda t: tails(t)[2] <= seen)
    p = min(1.0, 2 * min(tails(0.0)[:2]))
    return Odds(ratio, lower, upper, phi, p, AT_MOST if ends[1] else None)


AT_MOST = "no upper limit: as many turns after right answers are genuine as could be"


def _largest(holds: Callable[[float], bool]) -> float:
    """Return the largest odds ratio for whose logarithm a condition holds."""
    low, high = -FARTHEST, FARTHEST
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return float(np.exp(low))


def _numbers_of_both(tables: Array) -> tuple[Array, Array]:
    """Return how many items of all tables may be both, and the logarithms of their weights.

    Weights are those of an odds ratio of 1; they are convolved at one near that which was seen,
    where none that matters underflows.
    """
    a, b, c, d = (column + 0.5 for column in tables.astype(float).T)
    n = tables.sum(1) + 2.0
    near = float(np.log((a * d / n).sum() / (b * c / n).sum()))
    first, weights = 0.0, np.ones(1)
    for both, row, column, neither in tables.astype(float):
        of_row, of_column = both + row, both + column
        total = of_row + column + neither
        counts = np.arange(max(0.0, of_row + of_column - total), min(of_row, of_column) + 1)
        logs = _log_choose(of_row, counts) + near * counts
        logs += _log_choose(total - of_row, of_column - counts)
        weights = np.convolve(weights, np.exp(logs - logs.max()))
        weights, first = weights / weights.max(), first + float(counts[0])
    kept = np.flatnonzero(weights > NEGLIGIBLE)
    numbers = first + kept
    return numbers, np.log(weights[kept]) - near * numbers


def _log_choose(n: float, k: Array) -> Array:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _phi(a: float, b: float, c: float, d: float) -> float | None:
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    return float((a * d - b * c) / margins**0.5) if margins else None
