"""Statistics against independent implementations and values worked out by hand."""

import pytest
from statsmodels.stats.proportion import proportion_confint

from userturn.statistics import Interval, wilson


@pytest.mark.parametrize(
    ("n_positive", "n"), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 40), (500, 1319)]
)
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_interval_is_that_of_statsmodels(n_positive: int, n: int, confidence: float) -> None:
    lower, upper = proportion_confint(n_positive, n, alpha=1 - confidence, method="wilson")
    interval = wilson(n_positive, n, confidence)
    assert interval.estimate == n_positive / n
    assert (interval.lower, interval.upper) == pytest.approx((lower, upper), abs=1e-12)


def test_wilson_interval_of_a_published_example() -> None:
    # Newcombe 1998, Statistics in Medicine 17:857-872, table I: 81 of 263, 0.2553 to 0.3662.
    interval = wilson(81, 263)
    assert (interval.lower, interval.upper) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_nothing_seen_has_no_interval() -> None:
    assert wilson(0, 0) == Interval(None, None, None)
