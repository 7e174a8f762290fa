"""Association of two things: rank correlation over models, and odds ratios over items.

Given the margins of a 2x2 table, the number of items that are both follows a noncentral
hypergeometric distribution, which depends on the odds ratio alone (Fisher 1935, J R Stat Soc
98:39-82). Over several tables the numbers are added up (Gart 1970, Biometrika 57:471-475). So there
are limits wherever the data could have been different, even if a combination was never seen.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import factorial, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln  # scipy.stats takes seconds to import

from userturn.stats.proportions import CONFIDENCE, Array, quantile_of

Groups = list[NDArray[np.intp]]
FEWEST = 20  # pairings; of fewer none can have a p below 0.05
EXACT = 11  # pairs: 2ⁿ sets are added up, 0.05 s; each further pair doubles the time
EXTREME = 100  # extreme draws, after which p is known to a tenth of itself
LONGER = 100  # times that `n_resamples` are drawn, at most


def permutation_p(
    x: Array, y: Array, n_resamples: int, rng: np.random.Generator, groups: Groups
) -> float | None:
    """Return the two-sided p that all pairings of two rankings within groups are equally likely.

    `x` and `y` are ranks from 1. `groups` has the positions of the models among which pairings may
    be exchanged. Where there are too many pairings to count all, `n_resamples` are drawn. The
    result is None if there are several groups and fewer pairings than `FEWEST`.
    """
    if len(groups) > 1 and prod(factorial(len(group)) for group in groups) < FEWEST:
        return None
    away = np.concatenate([y[group] - y[group].mean() for group in groups])
    placed = np.concatenate([x[group] for group in groups])
    seen = abs(float(placed @ away)) - 1e-9
    if max(map(len, groups)) > EXACT:
        return _permutation_p(placed, away, seen, n_resamples, rng, list(map(len, groups)))
    ways, middle = np.ones(1), 0.0  # Σ xy of the groups are added up
    for group in groups:
        of_group = pairings(*(tuple(sorted(ranks[group].tolist())) for ranks in (x, y)))
        ways = np.convolve(ways, of_group / of_group.sum())
        middle += float(x[group].sum() * y[group].mean())
    sums = np.arange(len(ways)) / 4
    return float(min(1.0, ways[np.abs(sums - middle) >= seen].sum()))


@lru_cache(maxsize=16)
def pairings(x: Sequence[float], y: Sequence[float]) -> Array:
    """Return for each value 0, 1, 2, ... of 4 Σ xy the number of pairings of two rankings with it.

    Ranks are paired one by one, and only the set of ranks already paired matters, not their order
    (van de Wiel and Di Bucchianico 2001, J Stat Plan Inference 92:133-145, for ranks with and
    without ties). Without ties the answer is the same for all rankings of a length, so it is
    cached. Both are sorted ranks.
    """
    doubled = [round(2 * rank) for rank in x]
    others = {value: y.count(value) for value in y}  # how often each rank occurs
    length = sum(rank * round(2 * other) for rank, other in zip(doubled, y, strict=True)) + 1
    ways = {(0,) * len(others): np.eye(1, length)[0]}  # by how many of each rank are paired
    for rank in doubled:
        longer: dict[tuple[int, ...], Array] = {}
        for paired, counts in ways.items():
            for number, (other, total) in enumerate(others.items()):
                n_left, step = total - paired[number], rank * round(2 * other)
                if n_left:
                    state = (*paired[:number], paired[number] + 1, *paired[number + 1 :])
                    sums = longer.setdefault(state, np.zeros(length))
                    sums[step:] += n_left * counts[: length - step]
        ways = longer
    return next(iter(ways.values()))


def _permutation_p(
    x: Array,
    centred: Array,
    seen: float,
    n_resamples: int,
    rng: np.random.Generator,
    sizes: list[int],
) -> float:
    """Return p from random pairings, drawn until enough of them are extreme.

    So p can be as small as 5e-6, and can stay below 0.05 when it is adjusted for 10,000 tests
    (sequential Monte Carlo: Besag and Clifford 1991, Biometrika 78:301-304). The observed pairing
    counts as one of those drawn.
    """
    parts = np.split(centred, np.cumsum(sizes)[:-1])
    n_extreme = n_permutations = 0
    for _ in range(LONGER):
        permutations = [rng.permuted(np.tile(part, (n_resamples, 1)), axis=1) for part in parts]
        n_extreme += int((np.abs(np.hstack(permutations) @ x) >= seen).sum())
        n_permutations += n_resamples
        if n_extreme >= EXTREME:
            break
    return (1 + n_extreme) / (1 + n_permutations)


ATTENUATED = 0.9  # intervals of correlations that sampling shrinks further miss the true value


class Correlation(NamedTuple):
    """A rank correlation with its limits and p, each None with a reason if undefined."""

    estimate: float | None
    lower: float | None
    upper: float | None
    p: float | None
    reason: str | None


def average_ranks(values: Array) -> Array:
    """Return the ranks of values from 1, where equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def spearman(
    x: Array,
    y: Array,
    n_resamples: int,
    rng: np.random.Generator,
    confidence: float = CONFIDENCE,
    families: Sequence[str] | None = None,
) -> Correlation:
    """Return Spearman's rank correlation, its interval and its permutation p.

    The interval is tanh(artanh ρ ± z √((1 + ρ²/2) / (n - 3))) (Bonett and Wright 2000,
    Psychometrika 65:23-28), where n is the effective number of independent models (`independent`).
    It needs an n of at least 4, and ranks that are not all in the same or the opposite order. p is
    two-sided and over pairings (`permutation_p`), because the t distribution fits few models badly.
    Models of one family are alike. So where a family has several, models are only paired anew
    within families (Good 2005, Permutation, Parametric, and Bootstrap Tests of Hypotheses, section
    6.2). `families` has the family of each model, or is None if they are independent. Where there
    are too many pairings to count all, `n_resamples` are drawn.
    """
    n = len(x)
    if n < 3:
        return Correlation(None, None, None, None, f"needs 3 models, has {n}")
    first, second = (average_ranks(np.asarray(values)) for values in (x, y))
    u, v = (ranks - (n + 1) / 2 for ranks in (first, second))
    norm = float(np.sqrt((u @ u) * (v @ v)))
    if norm == 0:
        return Correlation(None, None, None, None, "one of the two is the same for every model")
    rho = float(np.clip(u @ v / norm, -1, 1))
    groups = _groups(n, families)
    p = permutation_p(first, second, n_resamples, rng, groups)
    worth = independent(first, second, groups)
    reasons = [] if p is not None else ["no p: too few models are of one family"]
    if worth < 4 or abs(rho) > 1 - 1e-12:
        why = "all ranks agree"
        if worth < 4:
            why = f"needs 4 models, has {n}" + (f", worth {worth:.1f}" if worth < n else "")
        reasons.append(f"no interval: {why}")
        return Correlation(rho, None, None, p, "; ".join(reasons))
    half = quantile_of(confidence) * np.sqrt((1 + rho**2 / 2) / (worth - 3))
    middle = np.arctanh(rho)
    limits = float(np.tanh(middle - half)), float(np.tanh(middle + half))
    return Correlation(rho, *limits, p, "; ".join(reasons) or None)


def _groups(n: int, families: Sequence[str] | None) -> Groups:
    """Return the positions of the models of each family, or one group if no family has two."""
    if families is None or len(set(families)) == n:
        return [np.arange(n)]
    _, number = np.unique(np.asarray(families), return_inverse=True)
    return [np.flatnonzero(number == family) for family in range(number.max() + 1)]


def independent(x: Array, y: Array, groups: Groups) -> float:
    """Return the effective number of independent models behind a correlation of ranks.

    It is n / (1 + a b (Σ m² - n) / n) for families of m models. Here a and b are the intraclass
    correlations of both ranks within families, by analysis of variance, and at least 0 (Clifford,
    Richardson and Hémon 1989, Biometrics 45:123-134, for pairs that are alike within families).
    """
    sizes = np.array(list(map(len, groups)), dtype=float)
    alike = np.prod([_alike([ranks[group] for group in groups]) for ranks in (x, y)])
    return float(len(x) / (1 + alike * (sizes @ sizes - len(x)) / len(x)))


def _alike(families: Sequence[Array]) -> float:
    """Return the intraclass correlation of ranks within families, at least 0 (one family: 0)."""
    sizes = np.array([len(family) for family in families], dtype=float)
    n, k = sizes.sum(), len(families)
    if k < 2:
        return 0.0
    means = np.array([family.mean() for family in families])
    within = sum(float(family.var()) * len(family) for family in families) / (n - k)
    between = float(sizes @ (means - sizes @ means / n) ** 2) / (k - 1)
    usual = (n - sizes @ sizes / n) / (k - 1)
    return float(max(0.0, (between - within) / (between + (usual - 1) * within)))


def reliability(estimates: Array, lower: Array, upper: Array) -> float | None:
    """Return the share of the variance of estimates that is not due to sampling, from 0 to 1.

    The correlation of the estimates with anything is at most the root of this share times the
    correlation of the true values (Spearman 1904, Am J Psychol 15:72-101). For rates that all lie
    at their floor the share is near 0. The variance of each estimate is derived from its 95%
    limits. The result is None if the estimates are equal, lack limits or are fewer than two.
    """
    if len(estimates) < 2 or np.isnan(lower).any() or np.isnan(upper).any():
        return None
    seen = float(np.var(estimates, ddof=1))
    if seen < 1e-15:
        return None
    noise = float(np.mean(((upper - lower) / (2 * quantile_of(CONFIDENCE))) ** 2))
    return max(0.0, 1 - noise / seen)


def attenuation(measured: Sequence[tuple[Array, Array, Array]]) -> float | None:
    """Return the factor by which sampling shrinks a correlation, from 0 to 1.

    `measured` has the estimates and their lower and upper limits, for each variable that is an
    estimate rather than known. The result is None if the reliability of one of them is unknown.
    """
    shares = [share for part in measured if (share := reliability(*part)) is not None]
    return float(np.sqrt(np.prod(shares))) if len(shares) == len(measured) else None


def drop_biased_interval(correlation: Correlation, factor: float | None) -> Correlation:
    """Return a correlation of measured values, without its interval if sampling shrinks it.

    The interval then lies around the shrunken correlation, and contains the true one too seldom
    (benchmarks/coverage.md). p remains, since values that are independent stay so when they are
    measured.
    """
    if correlation.lower is None or (factor is not None and factor >= ATTENUATED):
        return correlation
    left = "unknown" if factor is None else f"about {factor:.0%}"
    reason = f"no interval: what sampling leaves of the correlation is {left}"
    reasons = [why for why in (correlation.reason, reason) if why]
    return correlation._replace(lower=None, upper=None, reason="; ".join(reasons))


FARTHEST = 40.0  # log odds ratios are looked for between minus and plus this
STEPS = 45  # halvings of that range
NEGLIGIBLE = 1e-40  # chances below this, near the observed odds ratio, count as 0


class Odds(NamedTuple):
    """Odds ratio over tables with limits, phi of the summed table and p, or None with a reason.

    The ratio and its upper limit are infinite where as many items as possible are both.
    """

    odds_ratio: float | None
    lower: float | None
    upper: float | None
    phi: float | None
    p: float | None
    reason: str | None


def common_odds_ratio(tables: Array, confidence: float = CONFIDENCE) -> Odds:
    """Return the common odds ratio of 2x2 tables, and the test that it is 1.

    The estimate is the conditional maximum likelihood's. Each row of `tables` has the numbers of
    items that are both, only the first, only the second, and neither. Limits and p count the
    observed number by half (mid-p: Mehta and Walsh 1992, Am Stat 46:146-150). Limits that count it
    whole are an eighth wider, and cover odds ratios of rare turns in 0.95 to 1.0 of studies.
    """
    numbers, log_chances = _numbers_of_both(tables)
    a, b, c, d = tables.sum(0).astype(float)
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    phi = float((a * d - b * c) / margins**0.5) if margins else None
    if len(numbers) < 2:
        return Odds(None, None, None, phi, None, "one of the two is the same for every item")
    seen = float(tables[:, 0].sum())
    first, last = (int(np.searchsorted(numbers, seen, side)) for side in ("left", "right"))

    def tails(thetas: Array) -> tuple[Array, Array, Array]:
        """Return both tail chances, with the observed number counted by half, and the means."""
        logs = log_chances + thetas[:, None] * numbers
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        half = chances[:, first:last].sum(axis=1) / 2
        fewer, more = chances[:, :first].sum(axis=1), chances[:, last:].sum(axis=1)
        return fewer + half, more + half, chances @ numbers

    tail = (1 - confidence) / 2
    low, high = np.full(3, -FARTHEST), np.full(3, FARTHEST)  # of lower and upper limit and ratio
    for _ in range(STEPS):
        middles = (low + high) / 2
        fewer, more, means = tails(middles)
        is_below = np.array([more[0] <= tail, fewer[1] >= tail, means[2] <= seen])
        low, high = np.where(is_below, middles, low), np.where(is_below, high, middles)
    lower, upper, ratio = np.exp(low).tolist()
    if seen == numbers[0]:
        lower = ratio = 0.0
    elif seen == numbers[-1]:
        upper = ratio = np.inf
    fewer, more, _ = tails(np.zeros(1))
    p = min(1.0, 2 * float(min(fewer[0], more[0])))
    return Odds(ratio, lower, upper, phi, p, AT_MOST if seen == numbers[-1] else None)


AT_MOST = "no upper limit: as many turns after right answers are genuine as could be"


def _numbers_of_both(tables: Array) -> tuple[Array, Array]:
    """Return the possible numbers of items that are both, and the logarithms of their weights.

    The weights are those at an odds ratio of 1. They are convolved at an odds ratio near the
    observed one, where no weight that matters underflows.
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
    frequent = np.flatnonzero(weights > NEGLIGIBLE)
    numbers = first + frequent
    return numbers, np.log(weights[frequent]) - near * numbers


def _log_choose(n: float, k: Array) -> Array:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
