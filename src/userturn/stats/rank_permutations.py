"""The permutation p of Spearman's correlation: exact for few pairs, sequential for many."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from userturn.stats.proportions import Array

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
