"""Rates under several conditions and their combinations: by hand, by Newcombe, by simulation."""

import numpy as np
import pytest
from scipy.stats import t

from tests.support.paired_counts import newcombe
from userturn.stats.margins import Counts, change, combination, rates, side_by_side
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
