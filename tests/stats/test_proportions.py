"""Statistics against independent implementations and values worked out by hand."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from userturn.stats.proportions import (
    Interval,
    exact_limits,
    jeffreys_limits,
    wilson,
    wilson_limits,
)
from userturn.stats.rng import generator
from userturn.stats.significance import benjamini_hochberg, holm


@pytest.mark.parametrize(
    ("n_positive", "n"), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 40), (500, 1319)]
)
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_interval_is_that_of_statsmodels(n_positive: int, n: int, confidence: float) -> None:
    lower, upper = proportion_confint(n_positive, n, alpha=1 - confidence, method="wilson")
    interval = wilson(n_positive, n, confidence)
    assert interval.estimate == n_positive / n
    assert (interval.lower, interval.upper) == pytest.approx((lower, upper), abs=1e-12)


@pytest.mark.parametrize(("n_positive", "n"), [(0, 1), (0, 30), (1, 30), (30, 30), (500, 1319)])
def test_jeffreys_limits_are_those_of_statsmodels_but_hold_none_and_all(
    n_positive: int, n: int
) -> None:
    expected = list(proportion_confint(n_positive, n, alpha=0.05, method="jeffreys"))
    expected[0] = 0.0 if n_positive == 0 else expected[0]
    expected[1] = 1.0 if n_positive == n else expected[1]
    assert [float(x) for x in jeffreys_limits(n_positive, n)] == pytest.approx(expected, abs=1e-9)


def test_wilson_interval_of_a_published_example() -> None:
    # Newcombe 1998, Statistics in Medicine 17:857-872, table I: 81 of 263, 0.2553 to 0.3662.
    interval = wilson(81, 263)
    assert (interval.lower, interval.upper) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_nothing_seen_has_no_interval() -> None:
    assert wilson(0, 0) == Interval(None, None, None)


def test_wilson_interval_holds_the_truth_as_often_as_it_says() -> None:
    # 40 draws at 0.1: coverage by summing the binomial over n_positive is 0.9421 or more for 95%.
    drawn = np.random.default_rng(0).binomial(40, 0.1, 20000)
    lower, upper = wilson_limits(drawn, np.full(drawn.shape, 40))
    assert 0.93 < ((lower <= 0.1) & (upper >= 0.1)).mean() < 0.97


@pytest.mark.parametrize("n", [0, 1, 2, 30])
@pytest.mark.parametrize(("ours", "name"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_adjusted_p_values_are_those_of_statsmodels(ours: object, name: str, n: int) -> None:
    p = np.round(np.random.default_rng(n).beta(0.3, 1, n), 2)  # rounded: with ties
    expected = multipletests(p, method=name)[1] if n else p
    assert ours(p).tolist() == pytest.approx(expected.tolist())  # type: ignore[operator]


def test_adjusted_p_values_worked_out_by_hand() -> None:
    # Holm: 3 x 0.01, then max(0.03, 2 x 0.02), then max(0.04, 0.5). B-H: 0.03, 0.03, 0.5.
    p = np.array([0.02, 0.5, 0.01])
    assert holm(p).tolist() == pytest.approx([0.04, 0.5, 0.03])
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.03, 0.5, 0.03])


def test_draws_are_named_and_do_not_depend_on_what_else_is_drawn() -> None:
    first = generator(1, "rate", "m", 0.5).random()
    generator(1, "rate", "other").random(10)
    assert generator(1, "rate", "m", 0.5).random() == first
    assert generator(2, "rate", "m", 0.5).random() != first


@pytest.mark.parametrize(("positive", "n"), [(0, 40), (3, 40), (20, 40), (40, 40)])
def test_a_wilson_interval_gives_the_exact_ones_of_other_confidences(positive: int, n: int) -> None:
    lower, upper = proportion_confint(positive, n, alpha=0.01, method="beta")
    found = exact_limits(wilson(positive, n), 0.99)
    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=1e-9)
