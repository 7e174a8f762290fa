"""Corrected rates: golden values of ppi-python, and coverage where the plain rate is biased."""

from itertools import product

import numpy as np
import pytest

from userturn.stats.prediction_powered import (
    Corrected,
    Labelled,
    allocated,
    corrected_rate,
    design_effect,
    difference,
)
from userturn.stats.proportions import wilson

# ppi-python 0.2.3, in a virtual environment of its own:
#   ppi_mean_pointestimate(LABELS, THEIRS, ALL, lam=lam), and with w=WEIGHTS
LABELS = np.array([1, 0, 0, 1, 1, 0, 0, 1, 0, 1], float)
THEIRS = np.array([1, 0, 1, 1, 1, 0, 0, 0, 0, 1], float)
ALL = np.array([1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1], float)
WEIGHTS = np.array([2, 1, 1, 3, 1, 1, 2, 1, 1, 1], float)
ONE_CLASS = np.zeros(10)


@pytest.mark.parametrize(("tuning", "estimate"), [(0, 0.5), (0.5, 0.55), (1, 0.6)])
def test_estimate_is_that_of_ppi_python(tuning: float, estimate: float) -> None:
    sample = Labelled(LABELS, THEIRS, np.full(10, 2.0), ONE_CLASS)
    assert corrected_rate(ALL, sample, tuning=tuning).estimate == pytest.approx(estimate)


@pytest.mark.parametrize(("tuning", "estimate"), [(0.5, 0.58571429), (1, 0.6)])
def test_weighted_estimate_is_that_of_ppi_python(tuning: float, estimate: float) -> None:
    sample = Labelled(LABELS, THEIRS, WEIGHTS, ONE_CLASS)
    assert corrected_rate(ALL, sample, tuning=tuning).estimate == pytest.approx(estimate)


def test_estimate_in_strata_by_hand() -> None:
    # Of 8 turns that the judge calls genuine 2 of 4 labelled are; of 12 others 1 of 6:
    # 8/20 x 2/4 + 12/20 x 1/6 = 0.3. The judge is constant in a stratum: no lambda matters.
    predictions = np.array([1.0] * 8 + [0.0] * 12)
    sample = Labelled(
        np.array([1, 1, 0, 0, 1, 0, 0, 0, 0, 0], float),
        np.array([1.0] * 4 + [0.0] * 6),
        np.array([2.0] * 10),
        np.array(["a"] * 4 + ["b"] * 6),
    )
    for tuning in (None, 0, 0.3, 1):
        assert corrected_rate(predictions, sample, tuning=tuning).estimate == pytest.approx(0.3)


def test_labelling_all_turns_leaves_the_plain_wilson_interval_nearly() -> None:
    labels = np.array([1.0] * 30 + [0.0] * 70)
    sample = Labelled(labels, labels, np.ones(100), labels)
    found = corrected_rate(labels, sample)
    assert (found.estimate, found.lower, found.upper) == pytest.approx(wilson(30, 100), abs=2e-3)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_labelling_all_turns_of_a_rate_at_its_end_leaves_the_plain_wilson_interval(
    rate: float,
) -> None:
    labels = np.full(40, rate)
    found = corrected_rate(labels, Labelled(labels, labels, np.ones(40), labels))
    assert (found.lower, found.upper) == pytest.approx(wilson(int(40 * rate), 40)[1:])


def test_good_judge_makes_the_interval_narrower_than_labels_alone() -> None:
    generator = np.random.default_rng(0)
    truth = (generator.random(2000) < 0.4).astype(float)
    judge = np.where(generator.random(2000) < 0.9, truth, 1 - truth)
    chosen = generator.choice(2000, 100, replace=False)
    sample = Labelled(truth[chosen], judge[chosen], np.full(100, 20.0), np.zeros(100))
    tuned, alone = (corrected_rate(judge, sample, tuning=t) for t in (None, 0))
    assert 0.5 < tuned.tuning <= 1
    assert tuned.upper - tuned.lower < 0.75 * (alone.upper - alone.lower)


def simulated(
    n: int, rate: float, right: tuple[float, float], drawn: tuple[int, int], seed: int
) -> tuple[float, float, float]:
    """Return coverage of the rate, and mean error of corrected and plain estimates."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(1000):
        truth = generator.random(n) < rate
        said = np.where(truth, generator.random(n) < right[0], generator.random(n) >= right[1])
        strata = [generator.permutation(np.flatnonzero(said == side)) for side in (True, False)]
        chosen = [s[:k] for s, k in zip(strata, drawn, strict=True)]
        weights = [np.full(len(c), len(s) / len(c)) for s, c in zip(strata, chosen, strict=True)]
        ids = np.concatenate(chosen)
        sample = Labelled(
            truth[ids].astype(float), said[ids].astype(float), np.concatenate(weights), said[ids]
        )
        result = corrected_rate(said.astype(float), sample)
        found.append((result.lower <= rate <= result.upper, result.estimate, said.mean()))
    covered, estimate, plain = np.mean(found, axis=0)
    return float(covered), float(estimate - rate), float(plain - rate)


@pytest.mark.parametrize(
    ("n", "rate", "right", "drawn"),
    [
        (2000, 0.2, (0.9, 0.8), (100, 100)),
        (1000, 0.15, (0.8, 0.85), (40, 20)),
        (500, 0.5, (0.6, 0.7), (30, 30)),
    ],
)
def test_intervals_cover_as_promised_where_the_plain_rate_is_biased(
    n: int, rate: float, right: tuple[float, float], drawn: tuple[int, int]
) -> None:
    # 1,000 simulations: the standard error of a coverage of 95% is 0.7%.
    covered, error, plain_error = simulated(n, rate, right, drawn, seed=1)
    assert 0.93 <= covered <= 0.99
    assert abs(error) < 0.006
    assert abs(plain_error) > 0.04


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_labels_that_are_all_alike_are_not_certain(label: float) -> None:
    sample = Labelled(np.full(4, label), np.zeros(4), np.full(4, 25.0), np.zeros(4))
    found = corrected_rate(np.zeros(100), sample)
    assert found.estimate == label
    assert 0.2 < found.upper - found.lower < 0.7


def test_items_with_several_turns_widen_the_interval() -> None:
    # Five equal turns of each of 20 items know as much as one: the variance is five times larger.
    labels = np.repeat([1.0, 0.0] * 10, 5)
    assert design_effect(labels, np.repeat(np.arange(20), 5)) == pytest.approx(5)
    assert design_effect(labels, np.arange(100)) == 1
    assert design_effect(np.zeros(100), np.repeat(np.arange(20), 5)) == 1


def test_difference_of_two_rates_by_hand() -> None:
    # Correlation .5 x .004 / .01 = .2; √(.2² + .2² - .4 x .2 x .2), √(.3² + .1² - .4 x .3 x .1).
    rates = Corrected(0.3, 0.004, 0.01, 0.2, 0.5, 1), Corrected(0.5, 0.004, 0.01, 0.3, 0.8, 1)
    limits = difference(*rates, 0.5)
    assert limits == pytest.approx((0.2, 0.2 - 0.064**0.5, 0.2 + 0.088**0.5))


def variance(sizes: np.ndarray, spreads: np.ndarray, n: np.ndarray) -> float:
    """Return the variance of a stratified mean, with finite strata (Cochran 1977, eq. 5.6)."""
    return float(((sizes * spreads) ** 2 * (1 / n - 1 / sizes)).sum() / sizes.sum() ** 2)


@pytest.mark.parametrize(
    ("sizes", "spreads", "n"),
    [([60, 30, 10], [0.5, 0.2, 0.1], 20), ([50, 5, 40], [0.1, 0.5, 0.4], 25)],
)
def test_no_other_allocation_has_a_smaller_variance(
    sizes: list[int], spreads: list[float], n: int
) -> None:
    size, spread = np.array(sizes), np.array(spreads)
    found = variance(size, spread, allocated(size, spread, n))
    others = [
        variance(size, spread, np.array(drawn))
        for drawn in product(*(range(1, s + 1) for s in sizes))
        if sum(drawn) == n
    ]
    assert found <= 1.01 * min(others)  # whole numbers are rounded, not searched


def test_strata_get_labels_in_proportion_to_size_times_spread() -> None:
    assert allocated(np.array([1000, 1000, 2000]), np.array([0.1, 0.3, 0.3]), 100).tolist() == [
        10, 30, 60,
    ]  # fmt: skip


def test_small_stratum_gives_all_that_it_has_and_others_the_rest() -> None:
    assert allocated(np.array([10, 500]), np.array([0.5, 0.005]), 30).tolist() == [10, 20]


def test_each_stratum_has_its_least_though_its_labels_are_all_alike() -> None:
    assert allocated(np.array([100, 100, 1]), np.array([0.0, 0.5, 0.0]), 30, 2).tolist() == [
        2, 27, 1,
    ]  # fmt: skip


@pytest.mark.parametrize(("n", "expected"), [(0, 3), (50, 50), (500, 115)])
def test_total_is_what_is_asked_for_within_what_there_is(n: int, expected: int) -> None:
    found = allocated(np.array([100, 10, 5]), np.array([0.1, 0.5, 0.3]), n)
    assert found.sum() == expected
    assert (found <= [100, 10, 5]).all()
