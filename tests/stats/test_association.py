"""Rank correlation against scipy and values by hand."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from userturn.stats.association import (
    attenuation,
    average_ranks,
    independent,
    of_measured,
    reliability,
    spearman,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_ranks_are_those_of_scipy() -> None:
    values = np.round(rng().random(30), 1)
    assert average_ranks(values).tolist() == rankdata(values).tolist()


@pytest.mark.parametrize("n", [5, 11, 40])
def test_correlation_is_that_of_scipy(n: int) -> None:
    x, y = np.round(rng(n).random((2, n)), 1)  # with ties
    found = spearman(x, y, 5000, rng())
    assert found.estimate == pytest.approx(spearmanr(x, y).statistic)
    if n == 40:  # where scipy's t distribution fits
        assert found.p == pytest.approx(spearmanr(x, y).pvalue, abs=0.02)


def test_interval_is_bonett_and_wrights_by_hand() -> None:
    # x = 1..5, y = 2 1 4 3 5: Σd² = 4, ρ = 1 - 24/120 = 0.8. artanh 0.8 = 1.09861;
    # √((1 + 0.32) / 2) = 0.81240, x 1.95996 = 1.59228; tanh(-0.49367), tanh(2.69090).
    found = spearman(np.arange(5.0), np.array([2.0, 1, 4, 3, 5]), 2000, rng())
    assert (found.estimate, found.lower, found.upper) == pytest.approx(
        (0.8, -0.45712, 0.99084), abs=2e-5
    )


def test_interval_holds_the_truth_as_often_as_it_says() -> None:
    # Normal pairs with ρ = 0.5 have Spearman's 6/π asin(0.25) = 0.4826.
    draw, hits = rng(1), 0
    for _ in range(400):
        x, e = draw.standard_normal((2, 30))
        found = spearman(x, 0.5 * x + 0.75**0.5 * e, 10, draw)
        hits += bool(found.lower < 0.4826 < found.upper)  # type: ignore[operator]
    assert 0.92 <= hits / 400 <= 0.98


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1.0], [1.0], "needs 3 models, has 1"),
        ([1.0, 2.0], [1.0, 2.0], "needs 3 models, has 2"),
        ([1.0, 2, 3], [0.0, 0, 0], "one of the two is the same for every model"),
        ([1.0, 2, 3], [1.0, 3, 2], "no interval: needs 4 models, has 3"),
        ([1.0, 2, 3, 4], [1.0, 2, 3, 4], "no interval: all ranks agree"),
    ],
)
def test_what_cannot_be_said_has_a_reason(x: list[float], y: list[float], reason: str) -> None:
    found = spearman(np.array(x), np.array(y), 100, rng())
    assert found.reason == reason
    assert found.lower is None


def test_models_of_one_family_are_worth_fewer_and_have_no_p_of_hardly_any_pairing() -> None:
    # Families of 2, 2 and 2 whose ranks are 1 2, 3 4, 5 6 and 2 1, 4 3, 6 5: between families
    # 2 (2² + 0 + 2²) / 2 = 8, within 3 (.5) / 3 = .5, so both are alike by (8 - .5) / (8 + .5);
    # six models are worth 6 / (1 + (15/17)² (12 - 6) / 6). Pairings within families are 2³ = 8.
    x, y = np.arange(1.0, 7), np.array([2.0, 1, 4, 3, 6, 5])
    families = ["a", "a", "b", "b", "c", "c"]
    groups = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    assert independent(x, y, groups) == pytest.approx(6 / (1 + (15 / 17) ** 2))
    found = spearman(x, y, 100, rng(), families=families)
    assert (found.lower, found.p) == (None, None)
    assert found.reason == (
        "no p: too few models are of one family; no interval: needs 4 models, has 6, worth 3.4"
    )
    assert spearman(x, y, 100, rng(), families=list("abcdef")) == spearman(x, y, 100, rng())


def test_reliability_is_what_is_left_of_the_variance_without_sampling() -> None:
    # Rates 0.1, 0.2, 0.3: variance 0.01. Limits 0.05 x 1.96 away: squared errors of 0.0025.
    rates, away = np.array([0.1, 0.2, 0.3]), 0.05 * 1.959964
    assert reliability(rates, rates - away, rates + away) == pytest.approx(0.75)
    assert reliability(rates, rates - 1, rates + 1) == 0
    assert reliability(np.full(3, 0.1), rates, rates) is None


def test_interval_of_a_correlation_is_left_out_where_sampling_leaves_less_than_nine_tenths() -> (
    None
):
    # As above: reliability 0.75 of each, so the correlation is at most 0.75 of the true one.
    rates, away = np.array([0.1, 0.2, 0.3]), 0.05 * 1.959964
    wide = (rates, rates - away, rates + away)
    exact = (rates, rates, rates)
    assert attenuation([wide, wide]) == pytest.approx(0.75)
    assert attenuation([wide, exact]) == pytest.approx(0.75**0.5)
    found = spearman(np.arange(5.0), np.array([2.0, 1, 4, 3, 5]), 100, rng())
    assert of_measured(found, 0.9) == found
    withheld = of_measured(found, 0.89)
    assert (withheld.estimate, withheld.p) == (found.estimate, found.p)
    assert (withheld.lower, withheld.upper) == (None, None)
    assert withheld.reason == "no interval: what sampling leaves of the correlation is about 89%"


def test_correlations_shrink_by_the_root_of_the_reliability() -> None:
    # 4,000 rates of sd 0.1 that go with size at 0.8, measured with errors of sd 0.1.
    size, other, error = rng(4).standard_normal((3, 4000))
    seen = 0.5 + 0.1 * (0.8 * size + 0.6 * other) + 0.1 * error
    left = reliability(seen, seen - 0.196, seen + 0.196)
    assert left == pytest.approx(0.5, abs=0.04)
    assert np.corrcoef(size, seen)[0, 1] == pytest.approx(0.8 * np.sqrt(left or 0), abs=0.04)
