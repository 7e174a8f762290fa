"""Do `userturn power` and `userturn plan` keep their promises? Parts of `coverage.py`.

Studies of the sizes and effects that they name are simulated: truth is drawn here, intervals and
tests are those of the tables.
"""

from collections.abc import Iterator

import numpy as np
from scipy.stats import norm

from benchmarks.simulated import Array, Generator, Result, items, patterns
from tests.support.paired_counts import mcnemar
from userturn.cli.plan import DIFFERING, smallest_change
from userturn.stats.association import spearman
from userturn.stats.clustered_measures import mean_p
from userturn.stats.prediction_powered import Labelled, allocated, corrected_rate
from userturn.stats.proportions import clustered_rate
from userturn.stats.sample_size import (
    FollowUps,
    Judge,
    Turns,
    follow_ups_for_gain,
    follow_ups_for_share,
    items_for_difference,
    items_for_half_width,
    labels_for_half_width,
    models_for_decoupled,
)
from userturn.stats.significance import holm, sign_flip_p

Change = tuple[float, float, float]  # rate, difference, intraclass correlation
PRECISE = (
    (Turns(0.2, 0.3, 0), 0.05, 1),
    (Turns(0.2, 0.3, 0), 0.05, 5),
    (Turns(0.05, 0.6, 0), 0.03, 3),
    (Turns(0.01, 0.5, 0), 0.01, 1),
)
POWERFUL: tuple[tuple[Change, int, int], ...] = (
    ((0.1, 0.05, 0.3), 1, 1),
    ((0.1, 0.05, 0.3), 1, 22),
    ((0.02, 0.03, 0.2), 1, 4),
    ((0.2, -0.08, 0.3), 3, 4),
    ((0.3, 0.05, 0.6), 5, 22),
)
PLANNED = ((300, 2), (1319, 22), (4197, 44), (4197, 104))  # items, tests
FOLLOWED = (  # difference of gains or shares, what is assumed, tests
    (0.05, FollowUps(0.5, 2.0, spread=0.16), 1),
    (0.05, FollowUps(0.8, 1.5, spread=0.16), 10),
    (0.1, FollowUps(0.0, 2.0, spread=0.16), 1),
    (0.2, FollowUps(0.0, 2.0, spread=0.16), 1),
    (0.15, FollowUps(0.3, 2.0, spread=0.16), 4),
    (0.05, FollowUps(0.5, 2.0, rate=0.85), 1),
    (-0.1, FollowUps(0.3, 1.5, rate=0.6), 10),
    (0.3, FollowUps(0.0, 2.0, rate=0.2), 1),
)
LABELLED = ((0.2, 0.8, 0.85, 1319, 0.05), (0.05, 0.7, 0.95, 4000, 0.03), (0.3, 0.9, 0.9, 500, 0.06))


def attained_half_width(
    rng: Generator, n: int, turns: Turns, wished: float, n_samples: int
) -> float:
    """Return the mean half-width of intervals in studies of the size that is named."""
    size = items_for_half_width(turns, wished, n_samples)
    widths = []
    for _ in range(n):
        positive = rng.binomial(n_samples, items(rng, size or 0, turns.rate, turns.alike))
        found, _ = clustered_rate([patterns(n_samples, positive)], "micro")
        widths.append(((found.upper or 0.0) - (found.lower or 0.0)) / 2)
    return float(np.mean(widths))


def attained_assurance(
    rng: Generator, n: int, turns: Turns, wished: float, n_samples: int
) -> float:
    """Return the share of studies as narrow as asked, of the size that is named for .8 of them."""
    size = items_for_half_width(turns, wished, n_samples, 0.8)
    narrow = 0
    for _ in range(n):
        positive = rng.binomial(n_samples, items(rng, size or 0, turns.rate, turns.alike))
        found, _ = clustered_rate([patterns(n_samples, positive)], "micro")
        narrow += ((found.upper or 0.0) - (found.lower or 0.0)) / 2 <= wished
    return narrow / n


def attained_decoupled(rng: Generator, n: int, margin: float) -> float:
    """Return how often as many models as are named show that nothing goes together."""
    size, shown = models_for_decoupled(margin) or 0, 0
    for _ in range(n):
        x, y = rng.standard_normal((2, size))
        found = spearman(x, y, 1, rng, 0.9)
        shown += -margin < (found.lower or -1.0) and (found.upper or 1.0) < margin
    return shown / n


def conditions(rng: Generator, n: int, change: Change) -> tuple[Array, Array]:
    """Return the chance of each of n items under two conditions that move all of them alike."""
    rate, difference, alike = change
    before = items(rng, n, rate, alike)
    if difference > 0:
        return before, before + (1 - before) * difference / (1 - rate)
    return before, before * (1 + difference / rate)


def assumed(rng: Generator, change: Change) -> Turns:
    """Return what a large pilot of such items would say of their turns."""
    before, after = conditions(rng, 200_000, change)
    spreads = [chance.mean() * (1 - chance.mean()) for chance in (before, after)]
    alike = (before.var() + after.var()) / sum(spreads)
    covariance = float(np.cov(before, after)[0, 1])
    return Turns(change[0], float(alike), covariance / float(spreads[0] * spreads[1]) ** 0.5)


def attained_power(rng: Generator, n: int, change: Change, n_samples: int, n_tests: int) -> float:
    """Return how often Holm rejects for the one change among tests of none."""
    size = items_for_difference(assumed(rng, change), change[1], n_samples, n_tests)
    wins = 0
    for _ in range(n):
        chances = conditions(rng, size, change)
        first, second = (rng.binomial(n_samples, chance) for chance in chances)
        p = sign_flip_p((second - first) / n_samples, np.ones(size), 0.5 if n_samples == 1 else 1.0)
        wins += holm(np.array([p, *rng.random(n_tests - 1)]))[0] < 0.05
    return wins / n


def attained_plan(rng: Generator, n: int, n_items: int, n_tests: int) -> float:
    """Return how often a planned study detects the smallest effect that `userturn plan` names.

    One condition has that effect, the others none.
    """
    effect = smallest_change(n_items, n_tests)
    changes = np.array([effect, *np.zeros(n_tests - 1)])
    shares = np.column_stack([(DIFFERING + changes) / 2, (DIFFERING - changes) / 2])
    shares = np.column_stack([shares, 1 - shares.sum(1)])
    wins = 0
    for _ in range(n):
        rise, fall, _ = rng.multinomial(n_items, shares).T
        p = mcnemar(rise, fall)
        wins += holm(p)[0] < 0.05
    return wins / n


def attained_label_half_width(
    rng: Generator, n: int, turns: Turns, judge: Judge, n_turns: int, wished: float
) -> float:
    """Return the mean half-width of corrected rates with the labels that are named."""
    n_labels = labels_for_half_width(turns, judge, n_turns, wished) or 0
    widths = []
    for _ in range(n):
        truth = rng.random(n_turns) < turns.rate
        right = np.where(truth, judge.sensitivity, judge.specificity)
        said = truth == (rng.random(n_turns) < right)
        sides = [np.flatnonzero(said == side) for side in (True, False)]
        shares = np.array([truth[side].mean() for side in sides])
        sizes = np.array([len(side) for side in sides])
        drawn = allocated(sizes, np.sqrt(shares * (1 - shares)), n_labels)
        ids = [rng.choice(side, k, replace=False) for side, k in zip(sides, drawn, strict=True)]
        weights = np.repeat(sizes / drawn, drawn)
        chosen = np.concatenate(ids)
        sample = Labelled(
            truth[chosen].astype(float), said[chosen].astype(float), weights, said[chosen]
        )
        found = corrected_rate(said.astype(float), sample)
        widths.append((found.upper - found.lower) / 2)
    return float(np.mean(widths))


def attained_on_follow_ups(
    rng: Generator, n: int, difference: float, drawn: FollowUps, n_tests: int
) -> float:
    """Return how often two models are told apart by as many follow-ups as are named.

    Each conversation has three; values are normal, or whether such a value is below a quantile.
    What is assumed is what a large pilot says of them.
    """
    first, second, conversation = _values(rng, 150_000, difference, drawn)
    changes = second - first
    effect = np.bincount(conversation, weights=changes - difference).var() / 3 / changes.var()
    related = np.corrcoef(first, second)[0, 1]
    known = drawn._replace(related=related, design_effect=effect, per_conversation=3.0)
    needed = follow_ups_for_gain if drawn.spread else follow_ups_for_share
    size, wins = needed(known, difference, n_tests), 0
    for _ in range(n):
        first, second, conversation = _values(rng, size, difference, drawn)
        sums = np.bincount(conversation, weights=second - first)
        p = sign_flip_p(sums / np.abs(sums).max(), np.ones(len(sums)))
        if drawn.spread:
            p = max(p, mean_p(second - first, list(map(str, conversation))))
        wins += holm(np.array([p, *rng.random(n_tests - 1)]))[0] < 0.05
    return wins / n


def _values(
    rng: Generator, n: int, difference: float, drawn: FollowUps
) -> tuple[Array, Array, Array]:
    """Return two models' values of n follow-ups, and the number of their conversation."""
    number = np.repeat(np.arange(n), 3)[:n]
    within = (drawn.design_effect - 1) / 2  # correlation in a conversation of three
    first, second = _two_models(rng, number, drawn.related, within)
    if drawn.spread:
        return drawn.spread * first, drawn.spread * second + difference, number
    limits = norm.ppf([drawn.rate, drawn.rate + difference])
    return (first < limits[0]).astype(float), (second < limits[1]).astype(float), number


def _two_models(
    rng: Generator, number: Array, related: float, within: float
) -> tuple[Array, Array]:
    """Return two models' standard normal values of follow-ups, by their conversation's number."""
    of_item, *alone = (
        np.sqrt(within) * rng.standard_normal(number.max() + 1)[number]
        + np.sqrt(1 - within) * rng.standard_normal(len(number))
        for _ in range(3)
    )
    first, second = (np.sqrt(related) * of_item + np.sqrt(1 - related) * x for x in alone)
    return first, second


def promises(rng: Generator, n: int) -> Iterator[Result]:
    """Yield what studies attain of the sizes and effects that the two commands name."""
    for turns, wished, k in PRECISE:
        where = f"rate {turns.rate}, {k} samples, correlation {turns.alike}"
        found = attained_half_width(rng, n, turns, wished, k)
        yield Result("promised half-width", where, wished, found)
        found = attained_assurance(rng, n, turns, wished, k)
        yield Result("promised assurance", where, 0.8, found)
    for margin in (0.3, 0.5):
        found = attained_decoupled(rng, n, margin)
        yield Result("promised power", f"decoupled over models, within {margin}", 0.8, found)
    for change, k, n_tests in POWERFUL:
        where = f"rate {change[0]}, change {change[1]}, {k} samples, one of {n_tests} tests"
        yield Result("promised power", where, 0.8, attained_power(rng, n, change, k, n_tests))
    for n_items, n_tests in PLANNED:
        where = f"{n_items} items, smallest effect of a plan with {n_tests} tests"
        yield Result("promised power", where, 0.8, attained_plan(rng, n, n_items, n_tests))
    for difference, drawn, n_tests in FOLLOWED:
        what = "gain" if drawn.spread else f"share of {drawn.rate}"
        where = f"two models' {what}, {difference} apart, correlation {drawn.related}"
        found = attained_on_follow_ups(rng, n, difference, drawn, n_tests)
        yield Result("promised power", f"{where}, one of {n_tests} tests", 0.8, found)
    for rate, sensitivity, specificity, n_turns, wished in LABELLED:
        judge = Judge(sensitivity, specificity)
        found = attained_label_half_width(rng, n, Turns(rate, 0, 0), judge, n_turns, wished)
        where = f"rate {rate}, {n_turns} turns, judge right in {sensitivity} and {specificity}"
        yield Result("promised half-width, corrected", where, wished, found)
