"""Several answers an item: the area within items, and what the best answer gains: `coverage.py`."""

from collections.abc import Iterator

import numpy as np
from scipy.stats import norm

from benchmarks.simulated import Array, Generator, Result, held, items
from userturn.stats.discrimination import auc_within, change_from_random, chosen, won_pairs

# Items, answers of each, area, share of right answers, how alike an item's answers are.
REGIMES = (
    (20, 2, 0.5, 0.3, 0.3),
    (40, 4, 0.7, 0.3, 0.5),
    (60, 8, 0.9, 0.3, 0.3),
    (200, 8, 0.6, 0.1, 0.5),
)


def choices(rng: Generator, n: int) -> Iterator[Result]:
    """Yield coverage of areas and of changes of accuracy, and false rejections of a useless score.

    Scores differ between items more than within them, as likelihoods do.
    """
    for size, k, area, share, alike in REGIMES:
        of_item = np.repeat(np.arange(size), k)
        where = f"{size} items of {k} answers, {share:.0%} right, correlation {alike}"
        gain = _gain(k, area, share, alike)
        areas, changes, false = [], [], 0
        for _ in range(n):
            right, scores = _drawn(rng, size, k, area, share, alike)
            found = auc_within(won_pairs(scores, right, of_item))
            if found.lower is not None:
                areas.append((found.lower, area, found.upper))
            random = chosen(np.zeros(size * k), right, of_item)
            change = change_from_random(chosen(scores, right, of_item), random, k)
            changes.append((change.lower, gain, change.upper))
            useless = chosen(rng.random(size * k), right, of_item)
            false += (change_from_random(useless, random, k).p or 0) < 0.05
        yield Result("area within items", f"{where}, area {area}", 0.95, *held(areas))
        yield Result("change of accuracy by choice", f"{where}, area {area}", 0.95, *held(changes))
        yield Result("its test, false rejections", f"{where}, useless score", 0.05, false / n)


def _drawn(
    rng: Generator, size: int, k: int, area: float, share: float, alike: float
) -> tuple[Array, Array]:
    """Return of every answer whether it is right, and its score."""
    right = (rng.random((size, k)) < items(rng, size, share, alike)[:, None]).astype(float)
    noise = rng.normal(0, 2, (size, 1)) + rng.normal(0, 1, (size, k))
    return right.ravel(), (noise + 2**0.5 * norm.ppf(area) * right).ravel()


def _gain(k: int, area: float, share: float, alike: float) -> float:
    """Return the true gain of the best answer over a random one, from very many items."""
    size = 200_000
    right, scores = _drawn(np.random.default_rng(0), size, k, area, share, alike)
    best = scores.reshape(size, k).argmax(1)
    right = right.reshape(size, k)
    return float(right[np.arange(size), best].mean() - right.mean()) if area > 0.5 else 0.0
