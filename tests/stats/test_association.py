"""Rank correlations and permutations over models, and odds ratios over items."""

from itertools import permutations
from math import inf

import numpy as np
import pytest
from scipy.stats import contingency, nchypergeom_fisher, rankdata, spearmanr
from statsmodels.stats.contingency_tables import StratifiedTable

from userturn.stats import association
from userturn.stats.association import (
    attenuation,
    average_ranks,
    common_odds_ratio,
    drop_biased_interval,
    independent,
    pairings,
    permutation_p,
    reliability,
    spearman,
)
from userturn.stats.significance import benjamini_hochberg, holm


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
    assert drop_biased_interval(found, 0.9) == found
    withheld = drop_biased_interval(found, 0.89)
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


def test_pairings_of_three_by_hand() -> None:
    # 1 2 3 with 1 2 3: 14; one exchange of neighbours: 13 twice; 11 twice; the reverse: 10.
    ways = pairings((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))
    found = {place // 4: int(n) for place, n in enumerate(ways) if n}
    assert found == {14: 1, 13: 2, 11: 2, 10: 1}


@pytest.mark.parametrize("digits", [1, 3])  # with ties and without
@pytest.mark.parametrize("n", [3, 5, 7])
def test_p_is_the_share_of_all_pairings_that_are_as_extreme(n: int, digits: int) -> None:
    x, y = (rankdata(np.round(values, digits)) for values in rng().random((2, n)))
    sums = np.array(list(permutations(y - y.mean()))) @ x
    expected = (np.abs(sums) >= abs(x @ (y - y.mean())) - 1e-9).mean()
    assert permutation_p(x, y, 1, rng(), [np.arange(n)]) == pytest.approx(expected)


@pytest.mark.parametrize("n", [11, 26])
def test_a_lone_perfect_correlation_is_found_among_a_thousand(n: int) -> None:
    ranks = np.arange(1.0, n + 1)
    p = np.array(
        [permutation_p(ranks, ranks, 2000, rng(), [np.arange(n)]), *np.linspace(0.01, 1, 999)]
    )
    assert holm(p)[0] < 0.05 and benjamini_hochberg(p)[0] < 0.05


def test_p_of_drawn_pairings_is_near_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.arange(1.0, 11), np.array([2.0, 1, 4, 3, 7, 5, 6, 8, 10, 9])
    counted = permutation_p(x, y, 1000, rng(), [np.arange(10)])
    assert counted is not None and counted < 1 / 1001  # less than 1,000 draws can tell
    monkeypatch.setattr(association, "EXACT", 9)
    drawn = permutation_p(x, y, 1000, rng(), [np.arange(10)])
    assert drawn == pytest.approx(counted, rel=0.5)


def test_p_among_many_is_uniform_or_larger_where_nothing_is_associated() -> None:
    draw = rng()
    p = [
        permutation_p(draw.permutation(14) + 1.0, np.arange(1.0, 15), 200, draw, [np.arange(14)])
        for _ in range(400)
    ]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.035)


@pytest.mark.parametrize("exact", [11, 3])  # counted, and drawn
def test_models_of_several_families_are_paired_anew_within_families(
    exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    families = [np.array([0, 2, 3, 6]), np.array([1, 5, 7]), np.array([4])]
    x, y = (rankdata(np.round(values, 1)) for values in rng().random((2, 8)))
    sums = []
    for first in permutations(families[0]):
        for second in permutations(families[1]):
            paired = y.copy()
            paired[families[0]], paired[families[1]] = y[list(first)], y[list(second)]
            sums.append(x @ paired)
    away = np.abs(np.array(sums) - np.mean(sums))
    expected = (away >= abs(x @ y - np.mean(sums)) - 1e-9).mean()
    monkeypatch.setattr(association, "EXACT", exact)
    found = permutation_p(x, y, 4000, rng(), families)
    assert found == pytest.approx(expected, abs=1e-9 if exact == 11 else 0.03)
