"""Likelihoods, judge cards, chance floors: parts of `coverage.py`."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.stats import norm

from benchmarks.simulated import Array, Generator, Result, held, items
from userturn.stats.agreement import Ratings, estimate_all
from userturn.stats.clustered_measures import clustered_mean, mean_p
from userturn.stats.discrimination import clustered_auc
from userturn.stats.margins import change, clustered_change, side_by_side
from userturn.stats.proportions import Patterns, clustered_rate
from userturn.stats.significance import sign_flip_p

# Turns of each conversation: those of the demo, of `oasst_en100`, of `oasst_human`.
CONVERSATIONS = {
    "20 follow-ups of 20 conversations": np.full(20, 1),
    "60 follow-ups of 36 conversations": np.repeat([1, 2, 3, 6], [21, 8, 5, 2]),
    "400 follow-ups of 250 conversations": np.repeat([1, 2, 3, 8], [175, 48, 19, 9]),
}


AREAS = ((20, 0.2, 0.6), (60, 0.1, 0.8), (60, 0.3, 0.95), (400, 0.05, 0.7), (134, 0.02, 0.95))


def identified(rng: Generator, n: int) -> Iterator[Result]:
    """Yield coverage of shares and gains of reference follow-ups, and of models' differences."""
    for where, sizes in CONVERSATIONS.items():
        for rate in (0.5, 0.85, 0.97):
            limits = []
            for _ in range(n):
                positive = rng.binomial(sizes, items(rng, len(sizes), rate, 0.2)).astype(float)
                counted = Patterns(np.ones(len(sizes)), sizes.astype(float), positive)
                found, _ = clustered_rate([counted], "micro")
                limits.append((found.lower, rate, found.upper))
            regime = f"{where}, {rate:.0%} identified, correlation 0.2"
            yield Result("share of follow-ups identified", regime, 0.95, *held(limits))
        yield from _gains(rng, n, where, sizes)
        yield from _two_models(rng, n, where, sizes)


Law = Callable[[Generator, int], Array]
LAWS: dict[str, Law] = {  # of mean 0; short follow-ups gain most, so gains are skewed
    "skewed": lambda rng, n: rng.gamma(0.5, 0.8, n) - 0.4,
    "Student's t of 3": lambda rng, n: rng.standard_t(3, n),
    "lognormal of 1": lambda rng, n: np.exp(rng.standard_normal(n)) - np.exp(0.5),
    "lognormal of 1.5": lambda rng, n: np.exp(1.5 * rng.standard_normal(n)) - np.exp(1.125),
    "1% of 50 times": lambda rng, n: rng.standard_normal(n) + 50 * (rng.random(n) < 0.01) - 0.5,
}


def _gains(rng: Generator, n: int, where: str, sizes: Array) -> Iterator[Result]:
    """Yield coverage of a mean gain, and how often two models of equal mean are told apart."""
    of_turn = np.repeat(np.arange(len(sizes)), sizes)
    names = list(map(str, of_turn))
    for law, draw in LAWS.items():
        limits, false = [], 0
        for _ in range(n):
            shared = rng.normal(0, 0.3, len(sizes))[of_turn]
            values = shared + draw(rng, len(of_turn))
            found = clustered_mean(values, names)
            limits.append((found.lower, 0.0, found.upper))
            sums = np.bincount(of_turn, values)
            flips = sign_flip_p(sums / np.abs(sums).max(), np.ones(len(sums)))
            false += max(flips, mean_p(values, names)) < 0.05
        yield Result("mean gain of follow-ups", f"{where}, {law}", 0.95, *held(limits))
        yield Result("p of a mean gain of 0", f"{where}, {law}", 0.05, false / n)


def _two_models(rng: Generator, n: int, where: str, sizes: Array) -> Iterator[Result]:
    """Yield coverage and false rejections of the difference of two models' shares identified."""
    for rate in (0.85, 0.97):
        limits, false = [], 0
        for _ in range(n):
            chance = np.repeat(items(rng, len(sizes), rate, 0.5), sizes)
            right = rng.random((2, len(chance))) < chance
            ends = np.cumsum(sizes) - sizes
            before, after = (np.add.reduceat(r.astype(float), ends) for r in right)
            found = clustered_change(sizes.astype(float), before, after)
            limits.append((found.lower, 0.0, found.upper))
            false += sign_flip_p(after - before, np.ones(len(sizes))) < 0.05
        regime = f"{where}, both {rate:.0%}, correlation 0.5"
        yield Result("difference of shares identified", regime, 0.95, *held(limits))
        yield Result("its test, false rejections", regime, 0.05, false / n)


def areas(rng: Generator, n: int) -> Iterator[Result]:
    """Yield coverage of the area under the curve of the gain: items of three turns each."""
    for size, share, area in AREAS:
        shift, limits = 2**0.5 * norm.ppf(area), []
        names = np.repeat(np.arange(size), 3).astype(str).tolist()
        for _ in range(n):
            genuine = rng.random((size, 3)) < items(rng, size, share, 0.3)[:, None]
            noise = (
                rng.normal(0, 0.5**0.5, (size, 1)) + rng.normal(0, 0.5**0.5, (size, 3))
            ).ravel()
            found = clustered_auc(noise + shift * genuine.ravel(), genuine.ravel(), names)
            if found.lower is not None:
                limits.append((found.lower, area, found.upper))
        regime = f"{size} items of 3 turns, {share:.0%} genuine, area {area}"
        where = f"{regime} (defined in {len(limits) / n:.0%})"
        yield Result("area under the curve of the gain", where, 0.95, *held(limits))


def cards(rng: Generator, n: int) -> Iterator[Result]:
    """Yield coverage of a judge's sensitivity and kappa on turns of known kind."""
    for size, turns, right in ((16, 1, 0.9), (30, 7, 0.95), (60, 2, 0.6)):
        limits, kappas = [], []
        for _ in range(n):
            found, (genuine, said) = _judge_on(rng, size, turns, right)
            limits.append((found[0], right, found[1]))
            of_turn = np.repeat(np.arange(size), 2 * turns)
            codes = np.column_stack([genuine.ravel(), said.ravel()]).astype(int)
            ratings = Ratings(codes, np.ones(len(codes)), of_turn, 2)
            kappa = estimate_all(ratings, ["cohen_kappa"], rng)["cohen_kappa"]
            if kappa.lower is not None:
                kappas.append((kappa.lower, 2 * right - 1, kappa.upper))
        where = f"{size} conversations of {turns} turns of either kind, judge right in {right}"
        yield Result("sensitivity of a judge", where, 0.95, *held(limits))
        yield Result("kappa of a judge", where, 0.95, *held(kappas))


def _judge_on(
    rng: Generator, size: int, turns: int, right: float
) -> tuple[tuple[float | None, float | None], tuple[Array, Array]]:
    """Return the limits of the sensitivity, and the truth and the judge's word of every turn."""
    chance = items(rng, size, right, 0.2)[:, None]
    genuine = np.tile(np.repeat([True, False], turns), (size, 1))
    said = genuine == (rng.random(genuine.shape) < chance)
    caught = said[:, :turns].sum(1).astype(float)
    found, _ = clustered_rate(
        [Patterns(np.ones(size), np.full(size, float(turns)), caught)], "micro"
    )
    return (found.lower, found.upper), (genuine, said)


def floors(rng: Generator, n: int) -> Iterator[Result]:
    """Yield coverage of a rate less its chance floor: the same turns, judged after two answers."""
    for size, samples, floor, above in (
        (30, 1, 0.1, 0.0),
        (70, 1, 0.2, 0.03),
        (70, 5, 0.2, 0.1),
        (300, 1, 0.02, 0.0),
        (1319, 1, 0.02, 0.2),
    ):
        limits = []
        for _ in range(n):
            chance = items(rng, size, floor, 0.5)
            fits = rng.random((samples, size)) < chance  # a turn that would fit any answer
            reacts = rng.random((2, samples, size)) < [[[above / (1 - floor)]], [[0.0]]]
            differs = rng.random((2, samples, size)) < 0.02  # the judge errs by itself
            own, other = ((fits | reacts[k]) ^ differs[k] for k in (0, 1))
            found = change(side_by_side((samples, other.sum(0)), (samples, own.sum(0))))
            limits.append((found.lower, 0.96 * above, found.upper))
        where = f"{size} items of {samples} turns, floor {floor}, {above} above it"
        yield Result("rate less its chance floor", where, 0.95, *held(limits))
