"""Rates under several conditions and their combinations: by hand, by Newcombe, by simulation."""

import numpy as np
import pytest
from scipy.stats import binom, t
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from tests.support.paired_counts import mcnemar, newcombe
from userturn.stats.margins import (
    Counts,
    change,
    clustered_change,
    combination,
    detectable_difference,
    rates,
    side_by_side,
)
from userturn.stats.proportions import Interval, wilson

TWO_CHANGES = np.array([-1.0, 1.0, 1.0, -1.0])  # (second - first) - (fourth - third)


def pairs(both: int, before: int, after: int, neither: int) -> Counts:
    """Return items of one turn each, counted."""
    positive = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    return Counts(np.array([both, before, after, neither], float), np.ones((4, 2)), positive)


@pytest.mark.parametrize("counts", [(59, 6, 16, 80), (0, 0, 3, 9), (5, 0, 0, 5), (0, 0, 0, 9)])
def test_change_of_one_turn_each_is_newcombes(counts: tuple[int, int, int, int]) -> None:
    assert list(change(pairs(*counts))) == pytest.approx([float(x) for x in newcombe(*counts)])


def test_a_change_is_the_difference_of_the_rates_over_all_turns() -> None:
    # Conversations of 1, 3 and 2 turns; the second has none under the second condition.
    counts = side_by_side(([1, 3, 2], [1, 0, 1]), ([1, 0, 4], [0, 0, 2]))
    first, second = rates(counts)
    assert (first.estimate, second.estimate) == (2 / 6, 2 / 5)
    found = change(counts)
    assert found.estimate == pytest.approx(2 / 5 - 2 / 6)
    assert found.lower is not None and found.upper is not None
    assert found.lower < found.estimate < found.upper


def test_copies_of_one_turn_say_no_more_than_it() -> None:
    # Five equal turns of each item, but for the correction for continuity.
    once = pairs(590, 60, 160, 800)
    five = once._replace(turns=5 * once.turns, positive=5 * once.positive)
    assert list(change(five)) == pytest.approx(list(change(once)), abs=1e-3)


def test_ten_turns_that_stand_for_thirty_are_worth_ten() -> None:
    sample = np.array([1.0] * 5 + [0.0] * 5)
    counts = side_by_side((np.full(10, 3.0), 3 * sample))._replace(least=np.array([3.0]))
    assert list(rates(counts)[0]) == pytest.approx(list(wilson(5, 10)), abs=1e-9)


def test_a_condition_without_a_turn_has_neither_rate_nor_change() -> None:
    counts = side_by_side((1, [1, 0]), (0, [0, 0]))
    assert rates(counts)[1] == change(counts) == Interval(None, None, None)


def test_difference_of_two_changes_by_hand() -> None:
    # The first group goes from 1 to 3 of 4 items (+.5), the second from 2 to 1 (-.25).
    conditions = ([1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0])
    counts = side_by_side(*((1, positive) for positive in conditions))
    assert combination(counts, TWO_CHANGES).estimate == pytest.approx(0.75)


def test_limits_of_many_items_are_those_of_students_t_on_the_items_differences() -> None:
    rng = np.random.default_rng(1)
    chance = rng.beta(2, 3, 4000)
    four = rng.random((4, 4000)) < chance + np.array([[0.0], [0.1], [0.0], [-0.05]])
    of_items = TWO_CHANGES @ four
    half = t.ppf(0.975, 3999) * of_items.std(ddof=1) / 4000**0.5
    found = combination(side_by_side(*((1, turns) for turns in four)), TWO_CHANGES)
    expected = (of_items.mean(), of_items.mean() - half, of_items.mean() + half)
    assert list(found) == pytest.approx(expected, abs=2e-3)


def test_changes_that_were_never_seen_are_not_certain() -> None:
    still = side_by_side(*[(1, np.zeros(30))] * 4)
    found = combination(still, TWO_CHANGES)
    assert found.estimate == 0
    assert found.lower is not None and found.upper is not None
    assert found.upper - found.lower > 0.2


def test_limits_hold_where_conversations_are_of_unequal_length_and_some_turns_are_missing() -> None:
    # 120 conversations of 1 to 12 turns, alike by .3, from 5% to 15%; a tenth has no verdict.
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(500):
        sizes = rng.integers(1, 13, 120)
        chance = rng.beta(0.05 * 7 / 3, 0.95 * 7 / 3, 120)
        columns = []
        for rate in (chance, chance + (1 - chance) * 0.1 / 0.95):
            scored = rng.binomial(sizes, 0.9)
            columns.append((scored, rng.binomial(scored, rate)))
        found = change(side_by_side(*columns))
        held += (found.lower or 0) <= 0.1 <= (found.upper or 0)
    assert 0.93 <= held / 500 <= 0.99


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (6, 16), (30, 30), (3, 40)])
def test_mid_p_is_the_exact_p_of_statsmodels_less_half_of_what_was_seen(
    first: int, second: int
) -> None:
    expected = 1.0
    if first != second:  # what was seen counts by half in each tail
        exact = statsmodels_mcnemar([[9, first], [second, 9]], exact=True).pvalue
        expected = exact - binom.pmf(first, first + second, 0.5)
    assert float(mcnemar(first, second)) == pytest.approx(expected)


@pytest.mark.parametrize("n_tests", [1, 44, 104])
def test_mid_p_of_mcnemar_rejects_falsely_in_at_most_the_level(n_tests: int) -> None:
    # Over the number of items that differ, itself a draw: summed up, not simulated.
    level, differ = 0.05 / n_tests, np.arange(1, 500)
    rise = [np.arange(n + 1) for n in differ]
    sizes = [
        binom.pmf(k, n, 0.5)[mcnemar(k, n - k) <= level].sum()
        for n, k in zip(differ, rise, strict=True)
    ]
    for n_items in (30, 100, 300, 1319):
        for share in (0.005, 0.02, 0.05, 0.1, 0.2, 0.3):
            assert binom.pmf(differ, n_items, share) @ np.array(sizes) <= level


def test_newcombe_interval_holds_the_truth_as_often_as_it_says() -> None:
    # A rise from 2% to 10% on the same 100 items: both 0.01, fall 0.01, rise 0.09.
    tables = np.random.default_rng(0).multinomial(100, [0.01, 0.01, 0.09, 0.89], 5000)
    _, lower, upper = newcombe(*tables.T)
    assert 0.93 <= ((lower <= 0.08) & (upper >= 0.08)).mean() <= 0.99


def test_change_of_turns_that_are_counted_twice_is_no_more_certain() -> None:
    before, after = np.tile([1.0, 1.0, 0.0, 0.0], 10), np.tile([1.0, 0.0, 1.0, 1.0], 10)
    once = clustered_change(np.ones(40), before, after)
    twice = clustered_change(np.full(40, 2.0), 2 * before, 2 * after)
    assert list(twice) == pytest.approx(list(once), abs=0.01)


def test_change_where_no_turn_differs_is_not_certain() -> None:
    found = clustered_change(np.array([1.0, 3.0, 2.0]), np.zeros(3), np.zeros(3), (1, 2))
    assert found.lower is not None and found.upper is not None
    assert found.lower < 0 == found.estimate < found.upper


def test_detectable_difference_is_detected_with_the_power_asked_for() -> None:
    # 400 pairs of which 20% differ: McNemar's test at that difference has power 0.8.
    delta = float(detectable_difference(400, 0.2))
    rises = np.random.default_rng(0).multinomial(
        400, [0.1 + delta / 2, 0.1 - delta / 2, 0.8], 20000
    )
    b, c = rises[:, 0], rises[:, 1]
    assert (mcnemar(c, b) < 0.05).mean() == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("n_tests", [3, 22, 44])
def test_detectable_difference_at_holms_level_is_detected_by_holms_first_step(n_tests: int) -> None:
    level = 0.05 / n_tests
    delta = float(detectable_difference(1319, 0.1, level))
    tables = np.random.default_rng(0).multinomial(
        1319, [0.05 + delta / 2, 0.05 - delta / 2, 0.9], 20000
    )
    assert (mcnemar(tables[:, 1], tables[:, 0]) < level).mean() == pytest.approx(0.8, abs=0.02)


def test_rise_from_nothing_needs_as_many_items_that_differ() -> None:
    # All change is one way: McNemar needs 5 of them, the exact test 6. With 1319 items, 80% power
    # to see 6 is at a share of 0.006; the normal formula says 7.85 / 1319 = 0.00594.
    delta = float(detectable_difference(1319, 0.0))
    assert delta == pytest.approx(0.0059, abs=1e-4)
    assert binom.sf(5, 1319, delta) > 0.75


def test_nothing_is_detectable_without_pairs() -> None:
    assert np.isnan(detectable_difference(0, 0.5))
    assert float(detectable_difference(1, 0.5)) == 1


@pytest.mark.parametrize("n", [5, 6, 30])
def test_rise_one_way_solves_its_equation_for_few_items_too(n: int) -> None:
    delta = float(detectable_difference(n, 0.0))
    assert n * delta == pytest.approx((1.959964 + 0.841621 * (1 - delta) ** 0.5) ** 2)
