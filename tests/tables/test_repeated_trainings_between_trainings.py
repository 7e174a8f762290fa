"""Trainings are a draw: what holds for a recipe is known no better than its seeds allow."""

import numpy as np
import pytest
from scipy.stats import t

from userturn.stats.margins import change, side_by_side
from userturn.stats.proportions import Interval
from userturn.tables.repeated_trainings import distance, over_trainings, p_of_none


def test_limits_are_those_over_items_where_trainings_agree() -> None:
    within = Interval(0.1, 0.04, 0.2)
    assert over_trainings(within, [0.1, 0.1, 0.1]) == pytest.approx(within)


def test_squares_of_both_distances_add_up() -> None:
    # 0, .1 and .2 have the standard deviation .1; t is 4.3027 at 2 degrees of freedom, so the
    # trainings' limit is .2484 away, and the root of .2484² + .06² is .2556.
    assert distance([0.0, 0.1, 0.2]) == pytest.approx(4.3027 * 0.1 / 3**0.5, abs=1e-4)
    found = over_trainings(Interval(0.1, 0.04, 0.2), [0.0, 0.1, 0.2])
    assert found.lower == pytest.approx(0.1 - 0.2556, abs=1e-4)


def test_one_training_says_nothing_of_others() -> None:
    assert distance([0.3]) == np.inf


def test_p_is_students_where_items_are_certain() -> None:
    # Changes .1, .2 and .3: t = .2 / (.1 / root 3) = 3.464 at 2 degrees of freedom, p = .0742.
    def limits(confidence: float) -> Interval:
        return over_trainings(Interval(0.2, 0.2, 0.2), [0.1, 0.2, 0.3], confidence)

    assert p_of_none(limits) == pytest.approx(2 * t.sf(12**0.5, 2), rel=1e-6)


def test_p_is_below_a_level_where_limits_of_its_confidence_leave_0_out() -> None:
    def limits(confidence: float) -> Interval:
        rates = change(side_by_side((1.0, [0] * 60), (3.0, [1, 2, 0] * 20)), confidence)
        return over_trainings(rates, [0.3, 0.35, 0.35], confidence)

    p = p_of_none(limits)
    assert 0 < (limits(1 - 0.99 * p).lower or 0) * -1 < 1e-2
    assert (limits(1 - 1.01 * p).lower or 0) > 0


@pytest.mark.parametrize("apart", [0.0, 0.05, 0.15])
def test_seeds_alone_are_no_effect_in_at_least_95_of_100_recipes(apart: float) -> None:
    # Three trainings move the rate of 300 items from one half by normal draws with mean 0. Limits
    # over items alone, as for one training, leave 0 out in 2 of 5 recipes and more.
    rng = np.random.default_rng(54)
    rejected = of_items = 0
    for _ in range(200):
        before = rng.random(300) < 0.5
        rates = np.clip(0.5 + apart * rng.standard_normal((3, 1)), 0, 1)
        after = rng.random((3, 300)) < rates
        pooled = change(side_by_side((1.0, before), (3.0, after.sum(axis=0))))
        found = over_trainings(pooled, after.mean(axis=1) - before.mean())
        of_items += not holds_0(pooled)
        rejected += not holds_0(found)
    assert rejected <= 16  # of 200 at 5%: so many or fewer in 98 of 100 draws
    assert of_items > 60 or apart < 0.15


def holds_0(interval: Interval) -> bool:
    return (interval.lower or 0) <= 0 <= (interval.upper or 0)
