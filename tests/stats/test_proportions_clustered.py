"""Rates of items with several turns: by hand, against survey formulas, and how often they hold."""

import numpy as np
import pytest
from scipy.stats import beta

from userturn.stats.proportions import Patterns, clustered_rate, design_effect, wilson


def patterns(scored: list[int], positive: list[int]) -> Patterns:
    """Count items one by one: every item is a pattern of its own."""
    return Patterns(np.ones(len(scored)), np.array(scored, float), np.array(positive, float))


def test_design_effect_is_that_of_the_jackknife_over_many_items() -> None:
    # Another estimator of the same variance: leave one item out (Wolter 2007, chapter 4).
    draw = np.random.default_rng(0)
    scored = draw.integers(1, 6, 2000)
    positive = draw.binomial(scored, draw.beta(1, 3, 2000))
    total, right = scored.sum(), positive.sum()
    left_out = (right - positive) / (total - scored)
    variance = 1999 / 2000 * ((left_out - left_out.mean()) ** 2).sum()
    plain = right / total * (1 - right / total) / total
    found = design_effect(patterns(list(scored), list(positive)))
    assert found == pytest.approx(variance / plain, rel=0.005)


def test_items_of_equal_counts_may_be_counted_together() -> None:
    alone = patterns([2] * 10, [1] * 6 + [2] * 4)
    together = Patterns(np.array([6.0, 4.0]), np.array([2.0, 2.0]), np.array([1.0, 2.0]))
    a, b = (clustered_rate([p], "micro")[0] for p in (alone, together))
    assert a == pytest.approx(b)
    assert a.estimate == 14 / 20


def test_one_turn_an_item_has_the_wilson_interval() -> None:
    found, method = clustered_rate([patterns([1] * 40, [1] * 7 + [0] * 33)], "micro")
    assert (found, method) == (wilson(7, 40), "Wilson")


def test_five_equal_turns_of_an_item_are_worth_one() -> None:
    once, _ = clustered_rate([patterns([1] * 40, [1] * 7 + [0] * 33)], "micro")
    five, method = clustered_rate([patterns([5] * 40, [5] * 7 + [0] * 33)], "micro")
    assert five == pytest.approx(once)
    assert method == "Wilson over items"


@pytest.mark.parametrize("positive", [0, 5])
def test_none_or_all_positive_is_as_sure_as_the_items_are_many(positive: int) -> None:
    # 5 samples of each of 10 items: as sure as 10 items, not as 50 turns, nor certain.
    found, _ = clustered_rate([patterns([5] * 10, [positive] * 10)], "micro")
    assert found == pytest.approx(wilson(10 if positive else 0, 10))


def test_macro_weighs_datasets_equally_and_micro_turns() -> None:
    # 1 of 2 and 0 of 8: micro 1/10, macro (1/2 + 0) / 2.
    datasets = [patterns([1, 1], [1, 0]), patterns([1] * 8, [0] * 8)]
    assert clustered_rate(datasets, "micro")[0].estimate == 1 / 10
    assert clustered_rate(datasets, "macro")[0].estimate == 1 / 4


def test_macro_limits_by_hand_where_one_dataset_is_at_zero() -> None:
    # Jeffreys' limits of 1 of 2 are quantiles of Beta(3/2, 3/2), which is symmetric; of 0 of 8 they
    # are 0 and one of Beta(1/2, 17/2). Of the mean each distance counts by half.
    found, method = clustered_rate([patterns([1, 1], [1, 0]), patterns([1] * 8, [0] * 8)], "macro")
    away, upper = beta.ppf(0.975, 1.5, 1.5) - 0.5, beta.ppf(0.975, 0.5, 8.5)
    expected = (0.25, 0.25 - away / 2, 0.25 + (away**2 + upper**2) ** 0.5 / 2)
    assert found == pytest.approx(expected)
    assert method == "MOVER over datasets"


@pytest.mark.parametrize("datasets", [[], [patterns([0, 0], [0, 0])]])
def test_nothing_scored_has_no_rate(datasets: list[Patterns]) -> None:
    assert clustered_rate(datasets, "macro")[0] == (None, None, None)


@pytest.mark.parametrize("scored", [[1], [3], [0, 2]])
def test_a_single_item_has_an_interval_that_holds_its_rate(scored: list[int]) -> None:
    found, _ = clustered_rate([patterns(scored, [min(n, 1) for n in scored])], "micro")
    assert found.lower is not None and found.estimate is not None and found.upper is not None
    assert 0 <= found.lower <= found.estimate <= found.upper <= 1
