"""A prediction holds in a study, fails, or is undecided: in small ones it is undecided."""

import pytest
from statsmodels.stats.proportion import proportion_confint

from userturn.stats.proportions import Interval, wilson
from userturn.tables import anchor_rules as rule
from userturn.tables.anchor_rules import FAILS, HOLDS, UNDECIDED


@pytest.mark.parametrize(
    ("lower", "upper", "outcome"),
    [
        (0.39, 0.44, HOLDS),  # within 41% and five points
        (0.30, 0.34, FAILS),  # below 36%, but for its rounding
        (0.35, 0.40, UNDECIDED),  # across 36%
        (0.10, 0.90, UNDECIDED),
    ],
)
def test_a_share_holds_within_the_margin_and_fails_outside(
    lower: float, upper: float, outcome: str
) -> None:
    middle = Interval((lower + upper) / 2, lower, upper)
    assert rule.share_is(middle, 0.41, 0.005).outcome == outcome


def test_twelve_items_confirm_nothing() -> None:
    # 4 of 12 is 33% [13.8, 60.9], which holds the published 22%; 1 of 12 says nothing of near zero.
    assert rule.share_is(wilson(4, 12), 0.22, 0.005).outcome == UNDECIDED
    assert rule.all_near_zero([wilson(0, 12)] * 8).outcome == UNDECIDED
    assert (
        rule.none_rises([rule.rise_over_size([1, 2, 4], [wilson(1, 12)] * 3)]).outcome == UNDECIDED
    )


def test_near_zero_holds_where_every_upper_limit_is_small_and_fails_where_one_lower_is_not() -> (
    None
):
    low, high = wilson(10, 1000), wilson(100, 1000)  # 1% [0.5, 1.8] and 10% [8.3, 12.0]
    assert rule.all_near_zero([low] * 8).outcome == HOLDS
    assert rule.all_near_zero([low] * 7 + [high]).outcome == FAILS
    assert rule.all_near_zero([low] * 7 + [wilson(50, 1000)]).outcome == UNDECIDED


def test_the_highest_of_many_is_less_certain_than_one_rate() -> None:
    many = rule.highest([wilson(60, 300)] * 20)
    # Clopper and Pearson's limits of 60 in 300 at 1 - 0.05 / 20, by statsmodels.
    limits = proportion_confint(60, 300, alpha=0.05 / 20, method="beta")
    assert many.estimate == 0.2
    assert (many.lower, many.upper) == pytest.approx(limits)


def test_rates_that_triple_over_sizes_rise() -> None:
    # 1.0, 1.7, 2.4 and 3.1% of 4,197 items: strictly rising, two points in all.
    sizes, counts = [1.0, 2.0, 4.0, 8.0], [42, 71, 101, 130]
    rise = rule.rise_over_size(sizes, [wilson(n, 4197) for n in counts])
    assert rise.estimate == pytest.approx((130 - 42) / 4197, abs=1e-3)
    assert rule.none_rises([rise]).outcome == FAILS
    assert rule.none_rises([rule.rise_over_size(sizes, [wilson(42, 4197)] * 4)]).outcome == HOLDS


@pytest.mark.parametrize(
    ("changes", "both_rise", "none_rise"),
    [
        ([(0.02, 0.08), (0.01, 0.09)], HOLDS, FAILS),
        ([(0.02, 0.08), (-0.02, 0.02)], FAILS, FAILS),
        ([(0.02, 0.08), (-0.02, 0.09)], UNDECIDED, FAILS),
        ([(-0.03, 0.01), (-0.02, 0.02)], FAILS, HOLDS),
        ([(-0.03, 0.01), (-0.02, 0.09)], FAILS, UNDECIDED),
    ],
)
def test_no_rise_is_a_small_upper_limit_and_not_a_missing_proof(
    changes: list[tuple[float, float]], both_rise: str, none_rise: str
) -> None:
    intervals = [Interval((low + high) / 2, low, high) for low, high in changes]
    assert rule.all_rise(intervals).outcome == both_rise
    assert rule.none_rises(intervals).outcome == none_rise


def test_an_undecided_prediction_says_how_many_times_the_items_it_needs() -> None:
    # 10% ± 8 points against an edge at 14%: half the width, so four times the items.
    found = rule.lies_within(Interval(0.10, 0.02, 0.18), most=0.14)
    assert found == (UNDECIDED, pytest.approx(4))
    assert rule.lies_within(Interval(0.14, 0.1, 0.18), most=0.14) == (
        UNDECIDED,
        None,
    )  # at the edge
    # Of two changes the one that needs more: 1 ± 4 points leaves the 4 that the margin is off.
    changes = [Interval(0.01, -0.03, 0.05), Interval(0.04, -0.02, 0.10)]
    assert rule.none_rises(changes) == (UNDECIDED, pytest.approx((0.06 / 0.04) ** 2))


def test_items_that_a_prediction_asks_for_decide_it() -> None:
    for positive, n in ((12, 100), (3, 40), (60, 300)):
        found = rule.share_is(wilson(positive, n), 0.22, 0.005)
        if found.outcome == UNDECIDED and found.times is not None:
            more = int(found.times * n * 1.05)
            after = rule.share_is(wilson(round(positive / n * more), more), 0.22, 0.005)
            assert after.outcome != UNDECIDED
