"""Exact sign flips against every flip, scipy, and the sign test."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, norm, permutation_test
from statsmodels.stats.proportion import proportions_ztest
from statsmodels.stats.weightstats import DescrStatsW

from tests.support.paired_counts import mcnemar
from userturn.stats.margins import change, side_by_side
from userturn.stats.proportions import Interval, wilson
from userturn.stats.significance import Equivalence, Margins, equivalence, holm, sign_flip_p


def counted(change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, counts = np.unique(change, return_counts=True)
    return values, counts.astype(float)


@pytest.mark.parametrize("seed", range(4))
def test_p_is_that_of_all_flips_one_by_one(seed: int) -> None:
    change = np.random.default_rng(seed).choice([-0.4, -0.2, 0.0, 0.2, 1 / 3, 0.6], 12)
    sums = [abs(float(np.dot(signs, change))) for signs in product((-1, 1), repeat=12)]
    expected = np.mean(np.array(sums) >= abs(change.sum()) - 1e-9)
    assert sign_flip_p(*counted(change)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seen", [1.0, 0.5])
@pytest.mark.parametrize(("n", "shift"), [(7, 0), (150, 0), (401, 1), (400, 2), (1200, 1)])
def test_p_is_that_of_sums_of_changes_added_up_item_by_item(
    n: int, shift: int, seen: float
) -> None:
    tenths = np.random.default_rng(n).choice([-10, -6, -5, -2, 0, 2, 3, 5, 6], n) + shift
    chances = np.ones(1)  # of sums from the least to the largest
    for size in np.abs(tenths):
        longer = np.zeros(len(chances) + 2 * size)
        longer[: len(chances)] += chances / 2
        longer[2 * size :] += chances / 2
        chances = longer
    away = np.abs(np.arange(len(chances)) - len(chances) // 2)
    observed = abs(tenths.sum())
    expected = chances[away > observed].sum() + seen * chances[away == observed].sum()
    assert sign_flip_p(*counted(tenths / 10), seen) == pytest.approx(
        expected if observed else 1.0, rel=1e-6, abs=1e-12
    )


def test_p_is_that_of_scipys_permutation_test() -> None:
    change = np.round(np.random.default_rng(3).choice([-0.4, -0.2, 0.0, 0.2, 0.6], 300), 1)
    other = permutation_test(
        (change,),
        np.mean,
        permutation_type="samples",
        n_resamples=9999,
        rng=np.random.default_rng(2),
    )
    assert sign_flip_p(*counted(change)) == pytest.approx(other.pvalue, abs=0.02)


@pytest.mark.parametrize(("fall", "rise"), [(3, 12), (0, 1), (7, 7), (40, 90)])
def test_flips_of_single_turns_are_mcnemars_test(fall: int, rise: int) -> None:
    values, counts = np.array([-1.0, 0.0, 1.0]), np.array([fall, 20.0, rise])
    assert sign_flip_p(values, counts, 0.5) == pytest.approx(float(mcnemar(fall, rise)))
    assert sign_flip_p(values, counts) == pytest.approx(binomtest(fall, fall + rise).pvalue)


def test_no_change_at_all_has_p_of_one() -> None:
    assert sign_flip_p(np.array([0.0]), np.array([9.0])) == 1
    assert sign_flip_p(np.array([]), np.array([])) == 1


def test_changes_of_every_size_of_many_items_are_tested_too() -> None:
    # 20,000 changes without a common step: the normal test is right but for the rounding.
    change = np.random.default_rng(0).normal(0.003, 0.3, 20000)
    z = abs(change.sum()) / np.sqrt((change**2).sum())
    assert sign_flip_p(*counted(change)) == pytest.approx(2 * norm.sf(z), rel=0.1)


def test_hundreds_of_tests_can_be_significant_together() -> None:
    # 25 items that all rise: p is 2 / 2^25, so that Holm over 500 tests is far below 0.05.
    p = sign_flip_p(np.array([0.2, 0.4]), np.array([20.0, 5.0]))
    assert p == pytest.approx(2**-24)
    assert holm(np.full(500, p)).max() < 0.001


def rate(n_positive: int, n: int, margin: float) -> Equivalence:
    return equivalence(lambda c: wilson(n_positive, n, c), Margins(None, margin))


@pytest.mark.parametrize(("n_positive", "n"), [(0, 30), (2, 100), (10, 400), (55, 1319)])
def test_p_of_a_small_rate_is_that_of_the_score_test(n_positive: int, n: int) -> None:
    _, p = proportions_ztest(n_positive, n, value=0.05, alternative="smaller", prop_var=0.05)
    assert rate(n_positive, n, 0.05).p == pytest.approx(p, abs=1e-5)


def test_p_of_an_unchanged_rate_of_many_items_is_that_of_two_one_sided_t_tests() -> None:
    rng = np.random.default_rng(2)
    chance = rng.beta(1, 4, 3000)
    before, after = (rng.random((2, 3000)) < chance).astype(float)
    counts = side_by_side((1, before), (1, after))
    found = equivalence(lambda c: change(counts, c), Margins(-0.03, 0.03))
    p, *_ = DescrStatsW(after - before).ttost_mean(-0.03, 0.03)
    assert found.p == pytest.approx(p, rel=0.15)


@pytest.mark.parametrize(
    ("n_positive", "p_is_one", "outside"), [(0, False, False), (100, True, True)]
)
def test_rate_above_the_margin_has_no_evidence_for_being_below(
    n_positive: int, p_is_one: bool, outside: bool
) -> None:
    found = rate(n_positive, 400, 0.05)
    assert ((found.p == 1), found.is_outside) == (p_is_one, outside)


def test_claim_holds_at_5_percent_where_the_90_percent_interval_is_within_the_margin() -> None:
    upper = wilson(3, 200, 0.9).upper
    assert upper is not None
    assert rate(3, 200, upper + 1e-4).p < 0.05 < rate(3, 200, upper - 1e-4).p


def test_one_margin_alone_is_non_inferiority() -> None:
    found = equivalence(lambda _: Interval(0.5, 0.4, 0.6), Margins(-0.02, None))
    assert found.p < 1e-5
