"""How often a recipe without an effect has one, by its seeds alone: five tests of K trainings.

`python -m benchmarks.repeated_trainings 2000` prints the table of repeated_trainings.md.
"""

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t
from tabulate import tabulate

from userturn.stats.margins import change, side_by_side
from userturn.stats.proportions import Floats, Interval
from userturn.tables.repeated_trainings import widen_by_trainings

BETWEEN_ITEMS = 1.0  # standard deviation of the items' log odds
TESTS = ("one training", "items alone", "Student's over trainings", "Satterthwaite's", "both")


def misses(interval: Interval, truth: float) -> bool:
    """Return whether a value is outside of an interval."""
    return not (interval.lower or 0) <= truth <= (interval.upper or 0)


def rejected(before: Floats, after: Floats, truth: float) -> Iterator[bool]:
    """Yield whether each test misses the true mean change of a recipe.

    Args:
        before: whether the base's turn on each item is genuine.
        after: the same of each training, trainings x items.
        truth: the mean change over all seeds and items.
    """
    n_trainings, n_items = after.shape
    changes = after - before
    each, freedom = changes.mean(axis=1), n_trainings - 1
    pooled = change(side_by_side((1.0, before), (float(n_trainings), after.sum(axis=0))))
    yield misses(change(side_by_side((1.0, before), (1.0, after[0]))), truth)
    yield misses(pooled, truth)
    apart = t.ppf(0.975, freedom) * each.std(ddof=1) / n_trainings**0.5
    yield bool(abs(each.mean() - truth) > apart)
    items, mean = changes.mean(axis=0), changes.mean()
    squares = np.array(
        [
            n_trainings * ((items - mean) ** 2).sum() / (n_items - 1),
            n_items * ((each - mean) ** 2).sum() / freedom,
            -((changes - items - each[:, None] + mean) ** 2).sum() / (n_items - 1) / freedom,
        ]
    )
    of_each = np.array([n_items - 1, freedom, (n_items - 1) * freedom])
    whole = max(squares.sum(), 1e-9)
    quantile = t.ppf(0.975, max(1.0, whole**2 / (squares**2 / of_each).sum()))
    yield bool(abs(mean - truth) > quantile * (whole / changes.size) ** 0.5)
    yield misses(widen_by_trainings(pooled, each), truth)


def study(
    rng: np.random.Generator, rate: float, n_items: int, n: int, apart: float
) -> list[Floats]:
    """Return the turns of a base, and of trainings that move its log odds by draws of mean 0."""
    odds = logit(rate) + BETWEEN_ITEMS * rng.standard_normal(n_items)
    moved = odds + apart * rng.standard_normal((n, 1))
    return [(rng.random(at.shape) < expit(at)).astype(float) for at in (odds, moved)]


def true_change(rate: float, apart: float) -> float:
    """Return the mean change of a rate by all seeds: log odds are symmetric, rates are not."""
    draws = np.random.default_rng(0).standard_normal((2, 400_000))
    odds = logit(rate) + BETWEEN_ITEMS * draws[0]
    return float((expit(odds + apart * draws[1]) - expit(odds)).mean())


def main(n_studies: int) -> None:
    """Print how often each test rejects."""
    rows = []
    for rate, n_items, n, apart in product((0.5, 0.15), (300, 1000), (2, 3, 5), (0.0, 0.3, 0.6)):
        rng = np.random.default_rng([int(100 * rate), n_items, n, int(10 * apart)])
        truth = true_change(rate, apart)
        found = [[*rejected(*study(rng, rate, n_items, n, apart), truth)] for _ in range(n_studies)]
        rows.append((rate, n_items, n, apart, *np.mean(found, axis=0)))
    heads = ("rate", "items", "trainings", "between trainings, log odds", *TESTS)
    print(tabulate(rows, heads, "pipe", floatfmt=".3g"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
