"""How often limits hold who spoke and who answered: a part of `coverage.py`."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import expit, logit

from benchmarks.simulated import Array, Generator, Result, held
from userturn.stats.margins import Counts, combination
from userturn.tables.crossed_answers import two_way_effects

MODELS = ("a", "b", "c")
SPEAKERS, ANSWERERS, OWN = np.array([-0.6, 0.0, 0.6]), np.array([-0.3, 0.0, 0.3]), 0.3  # in logits
SPREAD = 1.0  # of items, in logits
REGIMES = ((20, 0.3, 1), (40, 0.1, 1), (40, 0.1, 3), (100, 0.3, 3), (300, 0.6, 1))


def chances(rate: float, items: Array) -> Array:
    """Return the chance of a genuine turn: items x speakers x answerers."""
    layout = logit(rate) + SPEAKERS[:, None] + ANSWERERS + OWN * np.eye(3)
    return np.asarray(expit(layout + items[:, None, None]))


def crossings(
    rng: Generator, n: int, regimes: Sequence[tuple[int, float, int]] = REGIMES
) -> Iterator[Result]:
    """Yield the coverage of each kind of effect of a 3 x 3 layout over paired items.

    Items differ, so that turns of one item are alike; speakers, answerers and a model's own answers
    have effects.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    for size, rate, samples in regimes:
        truth = np.tensordot(weights / weights.sum(), chances(rate, SPREAD * points), 1)
        limits: dict[str, list[tuple[float | None, float, float | None]]] = {}
        for _ in range(n):
            chance = chances(rate, SPREAD * rng.standard_normal(size)).reshape(size, 9)
            positive = rng.binomial(samples, chance).astype(float)
            counts = Counts(np.ones(size), np.full((size, 9), float(samples)), positive)
            for name, _, _, coefficients in two_way_effects(MODELS, MODELS):
                found = combination(counts, coefficients.ravel())
                held_by = found.lower, float((coefficients * truth).sum()), found.upper
                limits.setdefault(name, []).append(held_by)
        where = f"{size} items, {samples} turns each, rate {rate}, items differ by {SPREAD} logits"
        for name, of_kind in limits.items():
            yield Result(f"3 x 3 models and answers, {name}", where, 0.95, *held(of_kind))
