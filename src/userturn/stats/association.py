"""Rank correlations over models."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from userturn.stats.proportions import CONFIDENCE, Array, quantile_of

EXACT = 11  # pairs: 2ⁿ sets are added up, 0.05 s; each further pair doubles the time
EXTREME = 100  # draws at least as extreme: then p is known to a tenth of itself
LONGER = 100  # draws at most, in times of those that every p has


def permutation_p(x: Array, y: Array, n_resamples: int, rng: np.random.Generator) -> float:
    """Return the two-sided p that all pairings of two rankings are equally likely.

    Args:
        x: ranks from 1; equal values share the mean of their ranks.
        y: the other ranks of the same models.
        n_resamples: number of random pairings, where there are too many to count all.
        rng: what they are drawn by.
    """
    middle = len(x) * (len(x) + 1) ** 2 / 4  # the mean of Σ xy over all pairings
    seen = abs(float(x @ y) - middle) - 1e-9
    if len(x) > EXACT:
        return _drawn_p(x, y - y.mean(), seen, n_resamples, rng)
    ways = pairings(tuple(sorted(x.tolist())), tuple(sorted(y.tolist())))
    sums = np.arange(len(ways)) / 4
    return float(ways[np.abs(sums - middle) >= seen].sum() / ways.sum())


@lru_cache(maxsize=16)
def pairings(x: Sequence[float], y: Sequence[float]) -> Array:
    """Return in how many pairings of two rankings 4 Σ xy is 0, 1, 2 and so on.

    Ranks are paired off one by one; of those paired only their set matters, not the order (van de
    Wiel and Di Bucchianico 2001, J Stat Plan Inference 92:133-145, for ranks with and without
    ties). Without ties the answer is the same for all rankings of a length, so it is kept.

    Args:
        x: sorted ranks.
        y: the others, as many, sorted too.
    """
    doubled = [round(2 * rank) for rank in x]
    others = {value: y.count(value) for value in y}  # how often each rank occurs
    length = sum(rank * round(2 * other) for rank, other in zip(doubled, y, strict=True)) + 1
    ways = {(0,) * len(others): np.eye(1, length)[0]}  # by how many of each rank are paired
    for rank in doubled:
        longer: dict[tuple[int, ...], Array] = {}
        for paired, counts in ways.items():
            for place, (other, total) in enumerate(others.items()):
                n_left, step = total - paired[place], rank * round(2 * other)
                if n_left:
                    state = (*paired[:place], paired[place] + 1, *paired[place + 1 :])
                    sums = longer.setdefault(state, np.zeros(length))
                    sums[step:] += n_left * counts[: length - step]
        ways = longer
    return next(iter(ways.values()))


def _drawn_p(
    x: Array, centred: Array, seen: float, n_resamples: int, rng: np.random.Generator
) -> float:
    """Return p from random pairings, drawn until enough of them are extreme.

    So a p of 5e-6 can be seen, and stays below 0.05 among 10,000 tests (sequential Monte Carlo:
    Besag and Clifford 1991, Biometrika 78:301-304). The observed pairing counts as one of them.
    """
    n_extreme = n_drawn = 0
    for _ in range(LONGER):
        drawn = rng.permuted(np.tile(centred, (n_resamples, 1)), axis=1) @ x
        n_extreme += int((np.abs(drawn) >= seen).sum())
        n_drawn += n_resamples
        if n_extreme >= EXTREME:
            break
    return (1 + n_extreme) / (1 + n_drawn)


ATTENUATED = 0.9  # intervals of correlations that sampling shrinks further miss the true value


class Correlation(NamedTuple):
    """A rank correlation with its limits and p; None with a reason."""

    estimate: float | None
    lower: float | None
    upper: float | None
    p: float | None
    reason: str | None


def average_ranks(values: Array) -> Array:
    """Return the ranks of values from 1; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]


def spearman(
    x: Array, y: Array, n_resamples: int, rng: np.random.Generator, confidence: float = CONFIDENCE
) -> Correlation:
    """Return Spearman's rank correlation, its interval and its permutation p.

    The interval is tanh(artanh ρ ± z √((1 + ρ²/2) / (n - 3))), of Bonett and Wright 2000,
    Psychometrika 65:23-28. It needs four pairs, and ranks that are not all in one order. p is
    two-sided, over pairings (`rank_permutations`): the t distribution fits few models badly.
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
    p = permutation_p(first, second, n_resamples, rng)
    if n < 4 or abs(rho) > 1 - 1e-12:
        reason = f"needs 4 models, has {n}" if n < 4 else "all ranks agree"
        return Correlation(rho, None, None, p, f"no interval: {reason}")
    half = quantile_of(confidence) * np.sqrt((1 + rho**2 / 2) / (n - 3))
    middle = np.arctanh(rho)
    return Correlation(rho, float(np.tanh(middle - half)), float(np.tanh(middle + half)), p, None)


def reliability(estimates: Array, lower: Array, upper: Array) -> float | None:
    """Return the share of the variance of estimates that is not due to sampling, from 0 to 1.

    Their correlation with anything is at most its root times that of the true values (Spearman
    1904, Am J Psychol 15:72-101). Rates that all lie at their floor have nearly none. The variance
    of each estimate is derived from its 95% limits; None if the estimates are equal or lack limits.
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

    Args:
        measured: estimates, lower and upper limits of each of the two that is measured, not known.
    """
    known = [found for part in measured if (found := reliability(*part)) is not None]
    return float(np.sqrt(np.prod(known))) if len(known) == len(measured) else None


def of_measured(found: Correlation, factor: float | None) -> Correlation:
    """Return a correlation of measured values, without its interval if sampling shrinks it.

    The interval then lies around the shrunken correlation, and holds the true values' too seldom
    (docs/methods.md). p stays: values that are independent stay so when they are measured.
    """
    if found.lower is None or (factor is not None and factor >= ATTENUATED):
        return found
    left = "unknown" if factor is None else f"about {factor:.0%}"
    reason = f"no interval: what sampling leaves of the correlation is {left}"
    return found._replace(lower=None, upper=None, reason=reason)
