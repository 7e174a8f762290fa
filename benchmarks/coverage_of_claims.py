"""Interactions, claims against margins, bounds and rounds of labels: parts of `coverage.py`."""

from collections.abc import Iterator

import numpy as np

from benchmarks.simulated import Array, Generator, Result, held, items
from tests.support.paired_counts import mcnemar, newcombe
from userturn.stats.association import common_odds_ratio, spearman
from userturn.stats.margins import change, combination, correlations, side_by_side
from userturn.stats.prediction_powered import Labelled, allocated, corrected_rate, difference
from userturn.stats.proportions import Interval, wilson
from userturn.stats.significance import Margins, equivalence, sign_flip_p

# Items; the two families' rates and models; samples before and after; correlation of turns.
FAMILIES = (
    (30, (0.05, 0.3), (1, 1), (1, 1), 0.3),
    (30, (0.02, 0.1), (1, 5), (1, 1), 0.5),
    (300, (0.02, 0.2), (1, 5), (1, 1), 0.3),
    (300, (0.05, 0.2), (2, 2), (1, 5), 0.3),
    (1319, (0.01, 0.1), (1, 8), (1, 1), 0.5),
)


def _family(
    rng: Generator, chance: Array, change: float, n_models: int, turns: tuple[int, int]
) -> tuple[list[tuple[float, Array]], Array]:
    """Return a family's turns before and after, and the changes of items that are tested.

    Every turn has its item's chance; one turn against several is tested on first samples.
    """
    after_chance = chance + (1 - chance) * change / (1 - chance.mean())
    shape = (n_models, len(chance))
    before = rng.random((turns[0], *shape)) < chance
    after = rng.random((turns[1], *shape)) < after_chance
    columns = [(float(n_models * len(turn)), turn.sum((0, 1))) for turn in (before, after)]
    is_equal = turns[0] == turns[1]
    tested = [turn.mean((0, 1)) if is_equal else turn[0].mean(0) for turn in (before, after)]
    return columns, tested[1] - tested[0]


def interactions(rng: Generator, n: int) -> Iterator[Result]:
    """Yield coverage and false rejections where two families change alike: by 0 and by .1."""
    for size, rates, models, turns, alike in FAMILIES:
        for moved in (0.0, 0.1):
            limits, wrong = [], 0
            for _ in range(n):
                two = [
                    _family(rng, items(rng, size, rate, alike), moved, k, turns)
                    for rate, k in zip(rates, models, strict=True)
                ]
                counts = side_by_side(*two[0][0], *two[1][0])
                found = combination(counts, np.array([-1.0, 1.0, 1.0, -1.0]))
                limits.append((found.lower or 0.0, 0.0, found.upper or 0.0))
                apart = np.round(two[0][1] - two[1][1], 9)
                wrong += sign_flip_p(*np.unique(apart, return_counts=True)) < 0.05
            where = (
                f"{size} items, rates {rates[0]} and {rates[1]}, {models[0]} and {models[1]} "
                f"models, {turns[0]} and {turns[1]} samples, both change by {moved}"
            )
            yield Result("interaction", where, 0.95, *held(limits))
            yield Result("interaction, false rejections", where, 0.05, wrong / n)


def claims(rng: Generator, n: int) -> Iterator[Result]:
    """Yield how often a claim is made of a quantity that lies at its margin."""
    for size in (100, 1319):
        seen = rng.binomial(size, 0.05, n)
        made = sum(
            equivalence(lambda c, k=k, m=size: wilson(k, m, c), Margins(None, 0.05)).p < 0.05
            for k in map(int, seen)
        )
        yield Result("false claim: near zero", f"{size} items, rate .05", 0.05, made / n)
    for size, rate, kept in ((300, 0.2, False), (1319, 0.05, False), (1319, 0.8, True)):
        yield _changes(rng, n, size, rate, kept)
    for size in (11, 40):
        yield _correlations(rng, n, size)
    for size in (300, 1319):
        yield _odds(rng, n, size)


def _changes(rng: Generator, n: int, size: int, rate: float, kept: bool) -> Result:
    margin = 0.02 if kept else 0.05
    margins = Margins(-margin, None if kept else margin)
    made = 0
    for _ in range(n):
        before = items(rng, size, rate, 0.5)
        after = before * (1 - margin / rate)
        first, second = (rng.random((2, size)) < [before, after]).astype(float)
        counts = side_by_side((1, first), (1, second))
        made += equivalence(lambda c, s=counts: change(s, c), margins).p < 0.05
    claim = "accuracy kept" if kept else "no change"
    return Result(f"false claim: {claim}", f"{size} items, {rate} less {margin}", 0.05, made / n)


def _correlations(rng: Generator, n: int, size: int) -> Result:
    normal = 2 * np.sin(np.pi * 0.3 / 6)  # of a rank correlation of .3
    made = 0
    for _ in range(n):
        x, y = rng.multivariate_normal([0, 0], [[1, normal], [normal, 1]], size).T

        def limits(confidence: float, x: Array = x, y: Array = y) -> Interval:
            found = spearman(x, y, 1, rng, confidence)
            return Interval(found.estimate, found.lower, found.upper)

        if limits(0.9).lower is not None:
            made += equivalence(limits, Margins(-0.3, 0.3)).p < 0.05
    where = f"{size} models, rank correlation .3"
    return Result("false claim: decoupled over models", where, 0.05, made / n)


def _odds(rng: Generator, n: int, size: int) -> Result:
    made = 0
    for _ in range(n):
        right = rng.random(size) < 0.6
        odds = 0.2 * np.where(right, 1.5, 1.0)
        up = rng.random(size) < odds / (1 + odds)
        counts = np.array([[np.sum(a & b) for a in (right, ~right) for b in (up, ~up)]])

        def limits(confidence: float, counts: Array = counts) -> Interval:
            found = common_odds_ratio(counts, confidence)
            return Interval(found.odds_ratio, found.lower, found.upper)

        if limits(0.9).lower is not None:
            made += equivalence(limits, Margins(1 / 1.5, 1.5)).p < 0.05
    where = f"{size} items, odds ratio 1.5"
    return Result("false claim: decoupled over items", where, 0.05, made / n)


def bounds(rng: Generator, n: int) -> Iterator[Result]:
    """Yield what contrasts make of missing verdicts: genuine turns lost in 30%, others in 2%."""
    for size in (70, 300, 1319):
        rejected, limits = 0, []
        for _ in range(n):
            cold, warm = rng.random((2, size)) < 0.2
            seen = rng.random(size) >= np.where(warm, 0.3, 0.02)
            rise, fall = (int((a & ~b & seen).sum()) for a, b in ((warm, cold), (cold, warm)))
            rejected += float(mcnemar(fall, rise)) < 0.05
            ends = []
            for counted in (False, True):
                after = np.where(seen, warm, counted)
                table = (cold & after, cold & ~after, ~cold & after, ~cold & ~after)
                _, lower, upper = newcombe(*(int(part.sum()) for part in table))
                ends.append(float(upper if counted else lower))
            limits.append((ends[0], 0.0, ends[1]))
        where = f"{size} items, rates .2, genuine turns lost when warm"
        yield Result("McNemar's mid-p of what was scored", where, None, rejected / n)
        yield Result("limits whatever is unscored", where, 0.95, *held(limits))


def _labels(
    rng: Generator, truth: Array, said: Array, n_labels: int, first: int
) -> tuple[Array, Labelled]:
    """Return a judge's labels and people's of two rounds, the second shared out by the first."""
    sides = [rng.permutation(np.flatnonzero(said == side)) for side in (True, False)]
    sides = [side for side in sides if len(side)]
    sizes = np.array([len(side) for side in sides])
    least = np.minimum(sizes, first)
    p = [(truth[s[:k]].sum() + 0.5) / (k + 1) for s, k in zip(sides, least, strict=True)]
    drawn = allocated(sizes, np.sqrt(np.array(p) * (1 - np.array(p))), n_labels, least)
    ids = np.concatenate([side[:k] for side, k in zip(sides, drawn, strict=True)])
    weights = np.repeat(sizes / drawn, drawn)
    return said.astype(float), Labelled(
        truth[ids].astype(float), said[ids].astype(float), weights, said[ids]
    )


def rounds(rng: Generator, n: int) -> Iterator[Result]:
    """Yield the coverage of corrected rates of two rounds, of pools over datasets, of contrasts."""
    for size, rate, first, n_labels in (
        (1319, 0.2, 10, 100),
        (1319, 0.02, 15, 80),
        (300, 0.1, 5, 40),
    ):
        limits = []
        for _ in range(n):
            truth = rng.random(size) < rate
            said = np.where(truth, rng.random(size) < 0.8, rng.random(size) < 0.1)
            found = corrected_rate(*_labels(rng, truth, said, n_labels, first))
            limits.append((found.lower, rate, found.upper))
        where = f"{size} turns, rate {rate}, {first} labels of each side, then {n_labels} in all"
        yield Result("corrected rate, Neyman's second round", where, 0.95, *held(limits))
    for rate, per_side in ((0.2, 2), (0.03, 5)):
        yield _pool(rng, n, rate, per_side)
    for rate, changed, per_side in (
        (0.2, 0.1, 5),
        (0.2, 0.1, 20),
        (0.01, 0.01, 10),
        (0.01, 0.05, 40),
    ):
        yield _contrasts(rng, n, rate, changed, per_side)


def _stratified(rng: Generator, cells: list[tuple[Array, Array]], per_side: int) -> Labelled:
    """Return what people said of a few turns of each side of the judge in each cell."""
    parts: list[Labelled] = []
    for number, (truth, said) in enumerate(cells):
        for side in (True, False):
            ids = np.flatnonzero(said == side)
            k = min(per_side, len(ids))
            if k:
                kept = rng.choice(ids, k, replace=False)
                stratum = np.full(k, 2 * number + side)
                values = truth[kept].astype(float), said[kept].astype(float)
                parts.append(Labelled(*values, np.full(k, len(ids) / k), stratum))
    return Labelled(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _judged(rng: Generator, truth: Array) -> Array:
    """Return the labels of a judge that finds 7 of 10 genuine turns, and errs in 1 of 10 others."""
    return np.where(truth, rng.random(len(truth)) < 0.7, rng.random(len(truth)) < 0.1)


def _pool(rng: Generator, n: int, rate: float, per_side: int) -> Result:
    """Return the coverage of a model at a temperature: five datasets whose rates differ."""
    sizes, shifts = (1319, 500, 300, 1078), (0.5, 1.0, 1.5, 1.2)
    target = sum(m * rate * s for m, s in zip(sizes, shifts, strict=True)) / sum(sizes)
    limits = []
    for _ in range(n):
        cells = []
        for size, shift in zip(sizes, shifts, strict=True):
            truth = rng.random(size) < rate * shift
            cells.append((truth, _judged(rng, truth)))
        predictions = np.concatenate([said for _, said in cells]).astype(float)
        found = corrected_rate(predictions, _stratified(rng, cells, per_side))
        limits.append((found.lower, target, found.upper))
    where = f"four datasets, rate about {rate}, {per_side} labels of each side in each"
    return Result("corrected rate, model and temperature", where, 0.95, *held(limits))


def _contrasts(rng: Generator, n: int, rate: float, changed: float, per_side: int) -> Result:
    """Return the coverage of the change by a perturbation of a model over datasets."""
    limits = []
    for _ in range(n):
        chance = items(rng, 1800, rate, 0.5)
        found, said = [], []
        risen = chance + (1 - chance) * (changed - rate) / (1 - rate)
        for chances in (chance, risen if changed > rate else changed / rate * chance):
            truth = rng.random(1800) < chances
            judged = _judged(rng, truth)
            cells = [(truth[:1000], judged[:1000]), (truth[1000:], judged[1000:])]
            sample = _stratified(rng, cells, per_side)
            found.append(corrected_rate(judged.astype(float), sample))
            said.append((1, judged))
        related = float(correlations(side_by_side(*said))[0, 1])
        change_found = difference(found[0], found[1], related)
        limits.append((change_found.lower, changed - rate, change_found.upper))
    where = f"two datasets, rate {rate}, then {changed}, {per_side} labels of each side in each"
    return Result("corrected contrast over datasets", where, 0.95, *held(limits))
