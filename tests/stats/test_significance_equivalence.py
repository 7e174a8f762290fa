"""Equivalence: p-values of two one-sided tests against statsmodels, and what follows."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportions_ztest
from statsmodels.stats.weightstats import DescrStatsW

from userturn.stats.margins import change, side_by_side
from userturn.stats.proportions import Interval, wilson
from userturn.stats.significance import Equivalence, Margins, equivalence


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
