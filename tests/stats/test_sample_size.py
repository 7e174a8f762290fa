"""Sample sizes keep their promise: studies of that size have the precision and power, simulated.

Truth is drawn here, and analysed by the functions that the tables use.
"""

import numpy as np
import pytest
from statsmodels.stats.proportion import samplesize_confint_proportion

from benchmarks.power import (
    attained_assurance,
    attained_decoupled,
    attained_half_width,
    attained_label_half_width,
    attained_on_follow_ups,
    attained_power,
)
from userturn.stats.margins import detectable_difference
from userturn.stats.sample_size import (
    FollowUps,
    Judge,
    Turns,
    assured_half_width,
    corrected_half_width,
    items_for_difference,
    items_for_half_width,
    labels_for_half_width,
    level_of,
    mean_square_change,
    models_for_decoupled,
)


def test_items_of_one_turn_are_about_those_of_statsmodels() -> None:
    expected = samplesize_confint_proportion(0.3, 0.04)
    assert items_for_half_width(Turns(0.3, 0.5, 0), 0.04, 1) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("alike", "share"), [(1.0, 1), (0.0, 1 / 5)])
def test_samples_that_are_alike_buy_nothing_and_those_that_are_not_as_much_as_items(
    alike: float, share: float
) -> None:
    one, five = (items_for_half_width(Turns(0.2, alike, 0), 0.03, k) for k in (1, 5))
    assert one is not None and five == pytest.approx(share * one, abs=1)


def test_items_for_a_difference_are_those_at_which_it_is_detectable() -> None:
    turns = Turns(0.1, 0.3, 0.2)
    n = items_for_difference(turns, 0.05, 1, n_tests=22)
    psi = mean_square_change(turns, 0.05, 1)
    assert float(detectable_difference(n, psi, level_of(22))) == pytest.approx(0.05, rel=0.01)


def test_mean_square_change_by_hand() -> None:
    # Independent turns at .2 and .3 differ in .2 x .7 + .8 x .3 = .38; with two independent samples
    # each the variance (.16 + .21) is halved: .185 + .01.
    turns = Turns(0.2, 0.0, 0.0)
    assert mean_square_change(turns, 0.1, 1) == pytest.approx(0.38)
    assert mean_square_change(turns, 0.1, 2) == pytest.approx(0.195)


def test_items_change_at_least_as_much_as_their_samples_vary() -> None:
    # Samples that are all alike make shares of 0 and 1, so a change of .05 needs .05 of the items.
    assert mean_square_change(Turns(0.2, 1, 1), 0.05, 5) == pytest.approx(0.05)
    # Five samples alike by .4 vary by .6 (.16 + .1875) / 5, however related the conditions.
    assert mean_square_change(Turns(0.2, 0.4, 1), 0.05, 5) == pytest.approx(0.0417 + 0.0025)


def test_change_of_all_items_one_way_differs_in_no_fewer_items_than_it_is_large() -> None:
    assert mean_square_change(Turns(0.2, 1.0, 1.0), 0.1, 1) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("turns", "wished", "k"), [(Turns(0.2, 0.3, 0), 0.05, 1), (Turns(0.05, 0.6, 0), 0.03, 5)]
)
def test_intervals_are_as_narrow_as_promised(turns: Turns, wished: float, k: int) -> None:
    found = attained_half_width(np.random.default_rng(0), 200, turns, wished, k)
    assert found == pytest.approx(wished, rel=0.05)


@pytest.mark.parametrize(
    ("rate", "difference", "k", "n_tests"), [(0.1, 0.05, 1, 22), (0.2, -0.08, 3, 4)]
)
def test_power_is_what_was_promised(rate: float, difference: float, k: int, n_tests: int) -> None:
    # 300 studies: the standard error of a power of .8 is .023.
    found = attained_power(np.random.default_rng(0), 300, (rate, difference, 0.3), k, n_tests)
    assert found == pytest.approx(0.8, abs=0.07)


def test_corrected_rates_are_as_narrow_as_promised() -> None:
    turns, judge = Turns(0.2, 0, 0), Judge(0.8, 0.85)
    found = attained_label_half_width(np.random.default_rng(0), 150, turns, judge, 1319, 0.05)
    assert found == pytest.approx(0.05, rel=0.05)


def test_a_better_judge_needs_fewer_labels_and_too_few_turns_no_number_of_them() -> None:
    turns = Turns(0.2, 0, 0)
    worse, better = (
        labels_for_half_width(turns, Judge(right, right), 1319, 0.05) for right in (0.7, 0.95)
    )
    assert worse is not None and better is not None and better < worse / 2
    assert labels_for_half_width(turns, Judge(0.9, 0.9), 100, 0.05) is None


def test_a_rate_of_zero_needs_no_more_labels_than_there_are_turns() -> None:
    """All 40 turns labelled: Wilson's interval of 0 of 40, z² / (40 + z²) = 0.0876 wide."""
    assert corrected_half_width(Turns(0, 1, 0), Judge(0, 1), 40, 40) == pytest.approx(0.0438, 1e-3)


@pytest.mark.parametrize(("rate", "alike", "k"), [(0.2, 0.3, 1), (0.2, 0.3, 5), (0.05, 0.6, 3)])
def test_intervals_are_as_narrow_as_asked_in_as_many_studies_as_assured(
    rate: float, alike: float, k: int
) -> None:
    # 600 studies: the standard error of a share of .8 is .016.
    turns = Turns(rate, alike, 0)
    found = attained_assurance(np.random.default_rng(0), 600, turns, 0.03, k)
    assert found == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_rate_that_cannot_vary_is_assured_at_its_only_half_width(rate: float) -> None:
    # Wilson's interval of 0 of 40: z² / (40 + z²) = 0.0876 wide.
    found = assured_half_width(Turns(rate, 1, 0), 40, 5, 0.8)
    assert found == pytest.approx(0.0438, rel=1e-3)


def test_as_many_models_as_are_named_show_that_a_correlation_is_none() -> None:
    assert models_for_decoupled(0.5) == 32
    assert attained_decoupled(np.random.default_rng(0), 600, 0.5) == pytest.approx(0.8, abs=0.05)


def test_few_conversations_are_told_apart_as_promised() -> None:
    drawn = FollowUps(0.0, 2.0, spread=0.16)
    found = attained_on_follow_ups(np.random.default_rng(0), 300, 0.2, drawn, 1)
    assert found == pytest.approx(0.82, abs=0.07)
