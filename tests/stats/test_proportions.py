"""Statistics against independent implementations and values worked out by hand."""

import numpy as np
import pytest
from scipy.stats import beta
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from tests.support.paired_counts import newcombe
from userturn.stats.proportions import (
    Interval,
    Patterns,
    clustered_rate,
    combine,
    design_effect,
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


def test_difference_of_one_tables_margins_is_newcombes_method_10() -> None:
    # 59, 6, 16, 80 (Cavo et al. 2012): first 65/161, second 75/161, φ corrected for continuity.
    a, first_only, second_only, d = 59, 6, 16, 80
    n = a + first_only + second_only + d
    product = a * d - first_only * second_only - n / 2
    phi = product / np.sqrt(65.0 * 96 * 75 * 86)
    related = np.array([[1, phi], [phi, 1]])
    found = combine([wilson(65, n), wilson(75, n)], np.array([-1.0, 1.0]), related)
    expected = [float(x) for x in newcombe(a, first_only, second_only, d, limits=wilson_limits)]
    assert list(found) == pytest.approx(expected)


def test_equal_distances_add_up_as_standard_errors_do() -> None:
    # sd of 2x - y with sd 3 and 4 and correlation 1/2: sqrt(36 + 16 - 2 * 6 * 4 / 2) = sqrt(28).
    parts = [Interval(10, 7, 13), Interval(5, 1, 9)]
    related = np.array([[1, 0.5], [0.5, 1]])
    found = combine(parts, np.array([2.0, -1.0]), related)
    assert found == pytest.approx((15, 15 - 28**0.5, 15 + 28**0.5))


def test_part_without_limits_is_certain() -> None:
    parts = [Interval(0.5, None, None), Interval(0.2, 0.1, 0.4)]
    assert combine(parts, np.array([1.0, -1.0])) == pytest.approx((0.3, 0.1, 0.4))


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
