"""Conditional odds ratios against scipy's noncentral hypergeometric law, statsmodels, by hand."""

from math import inf

import numpy as np
import pytest
from scipy.stats import contingency, nchypergeom_fisher
from statsmodels.stats.contingency_tables import StratifiedTable

from userturn.stats.association import common_odds_ratio

STRATA = np.array([[12, 5, 7, 20], [3, 9, 2, 30], [40, 10, 22, 11]])
UNSEEN = np.array([[9, 400, 0, 60], [3, 90, 1, 200]])  # a combination that one dataset lacks


def law(tables: np.ndarray, ratio: float) -> tuple[np.ndarray, int]:
    """Return the chances of 0, 1, 2, ... items that are both, over all tables, by scipy."""
    chances = np.ones(1)
    for a, b, c, d in tables:
        counts = np.arange(a + min(b, c) + 1)
        chances = np.convolve(
            chances, nchypergeom_fisher.pmf(counts, a + b + c + d, a + b, a + c, ratio)
        )
    return chances, int(tables[:, 0].sum())


@pytest.mark.parametrize("tables", [STRATA, STRATA[:1], UNSEEN, UNSEEN[1:]])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_limits_leave_half_of_what_was_seen_and_the_rest_of_the_tail(
    tables: np.ndarray, confidence: float
) -> None:
    found = common_odds_ratio(tables, confidence)
    assert found.lower is not None and found.upper is not None
    for limit, side in ((found.lower, slice(-1, None, -1)), (found.upper, slice(None))):
        chances, seen = law(tables, limit)
        tail = chances[seen + 1 :].sum() if side.step else chances[:seen].sum()
        assert tail + chances[seen] / 2 == pytest.approx((1 - confidence) / 2, rel=1e-5)


@pytest.mark.parametrize("tables", [STRATA, UNSEEN])
def test_p_is_twice_the_smaller_tail_with_half_of_what_was_seen(tables: np.ndarray) -> None:
    chances, seen = law(tables, 1.0)
    half = chances[seen] / 2
    smaller = min(chances[:seen].sum() + half, chances[seen + 1 :].sum() + half)
    assert common_odds_ratio(tables).p == pytest.approx(2 * smaller)


def test_estimate_of_one_table_is_scipys_conditional_one_and_phi_is_by_hand() -> None:
    # φ = (12 x 20 - 5 x 7) / √(17 x 27 x 19 x 25) = 0.43903.
    found = common_odds_ratio(STRATA[:1])
    other = contingency.odds_ratio(STRATA[0].reshape(2, 2), kind="conditional")
    assert found.odds_ratio == pytest.approx(other.statistic, rel=1e-4)
    assert found.phi == pytest.approx(0.43903, abs=1e-5)


def test_many_items_have_mantel_and_haenszels_odds_ratio_of_statsmodels() -> None:
    tables = np.array([[480, 200, 280, 800], [1200, 500, 70, 200]])  # both 480 / 70
    other = StratifiedTable([row.reshape(2, 2).astype(float) for row in tables])
    found = common_odds_ratio(tables)
    expected = (other.oddsratio_pooled, *other.oddsratio_pooled_confint())
    assert (found.odds_ratio, found.lower, found.upper) == pytest.approx(expected, rel=0.02)


def test_a_combination_that_was_never_seen_leaves_one_limit() -> None:
    # Two genuine turns of four, both after the two right answers: one of the C(4, 2) = 6 ways, so
    # the chance of it is ω² / (ω² + 4 ω + 1); half of it is .025 at ω² - 19 (1 - ...) = 0, that is
    # 19 ω² = 4 ω + 1, ω = (4 + √92) / 38 = .35767. p is 2 x half of a sixth.
    found = common_odds_ratio(np.array([[2, 0, 0, 2]]))
    assert found.lower == pytest.approx((4 + 92**0.5) / 38)
    assert (found.odds_ratio, found.upper) == (inf, inf)
    assert found.p == pytest.approx(1 / 6)
    mirrored = common_odds_ratio(np.array([[0, 2, 2, 0]]))
    assert (mirrored.odds_ratio, mirrored.lower) == (0, 0)
    assert mirrored.upper == pytest.approx(38 / (4 + 92**0.5))


@pytest.mark.parametrize("table", [[0, 0, 0, 0], [1, 0, 0, 0], [5, 5, 0, 0], [0, 7, 0, 3]])
def test_table_that_could_not_have_been_different_says_why(table: list[int]) -> None:
    found = common_odds_ratio(np.array([table]))
    assert (found.odds_ratio, found.lower, found.p) == (None, None, None)
    assert found.reason == "one of the two is the same for every item"


def test_a_thousand_items_of_a_strong_association_neither_overflow_nor_vanish() -> None:
    found = common_odds_ratio(np.array([[2000, 10, 10, 2000], [900, 5, 3, 1]]))
    assert found.lower is not None and found.odds_ratio is not None and found.upper is not None
    assert 5000 < found.lower < found.odds_ratio < found.upper < inf
