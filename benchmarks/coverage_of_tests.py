"""Agreement, families of tests, associations and corrected rates: parts of `coverage.py`."""

from collections.abc import Iterator

import numpy as np

from benchmarks.simulated import Generator, Result, held
from tests.support.paired_counts import mcnemar
from userturn.stats.agreement import Ratings, estimate_all
from userturn.stats.association import spearman
from userturn.stats.margins import detectable_difference
from userturn.stats.prediction_powered import Labelled, corrected_rate
from userturn.stats.significance import holm

AGREEING = ((30, 0.02, 0.8), (30, 0.1, 0.4), (30, 0.1, 0.8), (30, 0.5, 0.6), (200, 0.1, 0.6))
FAMILIES = ((1, 300, 0.1), (3, 1319, 0.1), (22, 1319, 0.1), (44, 1319, 0.3))


def agreements(rng: Generator, n: int) -> Iterator[Result]:
    """Yield the coverage of coefficients of agreement of two raters on two labels."""
    names = ("raw", "cohen_kappa", "krippendorff_alpha", "gwet_ac1")
    for size, share, kappa in AGREEING:
        odd = share * (1 - share) * (1 - kappa)
        truth = dict.fromkeys(names, kappa) | {"raw": 1 - 2 * odd}
        by_chance = 2 * share * (1 - share)
        truth["gwet_ac1"] = (truth["raw"] - by_chance) / (1 - by_chance)
        cells = [share**2 + share * (1 - share) * kappa, odd, odd]
        limits: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
        for _ in range(n):
            drawn = rng.choice(4, size, p=[*cells, 1 - sum(cells)])
            codes = np.column_stack([drawn // 2, drawn % 2])
            rated = Ratings(codes, np.ones(size), np.arange(size), 2)
            for name, found in estimate_all(rated, names, rng).items():
                if found.lower is not None:
                    limits[name].append((found.lower, truth[name], found.upper))
        where = f"{size} turns, share {share}, kappa {kappa}"
        for name in names:
            defined = "" if len(limits[name]) == n else f" (defined in {len(limits[name]) / n:.0%})"
            yield Result(name, where + defined, 0.95, *held(limits[name]))


def families(rng: Generator, n: int) -> Iterator[Result]:
    """Yield the error of a family of tests, and the power at the detectable difference."""
    for size in (70, 1319):
        wrong = 0
        for _ in range(n):
            base = rng.random((11, size)) < 0.1
            others = rng.random((4, 11, size)) < 0.1
            rise, fall = ((x).sum(2) for x in (others & ~base, base & ~others))
            wrong += holm(mcnemar(fall, rise).ravel()).min() < 0.05
        yield Result("Holm over 44 tests, any false rejection", f"{size} items", 0.05, wrong / n)
    for n_tests, size, differing in FAMILIES:
        level = 0.05 / n_tests
        delta = float(detectable_difference(size, differing, level))
        chances = [(differing + delta) / 2, (differing - delta) / 2, 1 - differing]
        rise, fall, _ = rng.multinomial(size, chances, 10 * n).T
        power = float((mcnemar(fall, rise) < level).mean())
        where = f"{size} items, {differing:.0%} differ, first step of {n_tests} tests"
        yield Result("power at the detectable difference", where, 0.8, power)


def associations(rng: Generator, n: int) -> Iterator[Result]:
    """Yield the coverage of rank correlations of 11 models and of pooled odds ratios."""
    for rho in (0.0, 0.5, 0.8):
        truth = 6 / np.pi * np.arcsin(rho / 2)
        limits = []
        for _ in range(n):
            x, y = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 11).T
            found = spearman(x, y, 1, rng)
            if found.lower is not None:
                limits.append((found.lower, truth, found.upper))
        yield Result("Spearman", f"11 models, correlation {rho}", 0.95, *held(limits))


def corrected(rng: Generator, n: int) -> Iterator[Result]:
    """Yield the coverage of rates corrected for a judge, two labelled turns a cell and label."""
    for size, rate, drawn in ((1319, 0.2, 15), (1319, 0.02, 30), (300, 0.1, 15)):
        limits = []
        for _ in range(n):
            truth = rng.random(size) < rate
            said = np.where(truth, rng.random(size) < 0.8, rng.random(size) < 0.15)
            sides = [np.flatnonzero(said == side) for side in (True, False)]
            chosen = [rng.choice(s, min(drawn, len(s)), replace=False) for s in sides]
            ids = np.concatenate(chosen)
            weights = [np.full(len(c), len(s) / len(c)) for s, c in zip(sides, chosen, strict=True)]
            sample = Labelled(
                truth[ids].astype(float),
                said[ids].astype(float),
                np.concatenate(weights),
                said[ids],
            )
            found = corrected_rate(said.astype(float), sample)
            limits.append((found.lower, rate, found.upper))
        where = f"{size} turns, rate {rate}, {drawn} labels of each side"
        yield Result("corrected rate", where, 0.95, *held(limits))
