"""Scores of several answers of one item: pairs, areas, the best answer, by hand and by others."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest, mannwhitneyu, norm

from userturn.stats.discrimination import (
    WonPairs,
    auc_within,
    change_from_random,
    change_of_choice,
    chosen,
    clustered_auc,
    won_pairs,
)

# Item 0: right 3 and 1, wrong 2 and 1: of four pairs 3>2, 3>1, 1<2, 1=1: 2.5 won.
# Item 1: all right. Item 2: right 5, wrong 7: lost.
SCORES = [3.0, 1, 2, 1, 4, 4, 5, 7]
RIGHT = [True, True, False, False, True, True, True, False]
ITEMS = np.array([0, 0, 0, 0, 1, 1, 2, 2])


def test_pairs_are_counted_within_items_and_ties_are_half() -> None:
    won, n_pairs = won_pairs(SCORES, RIGHT, ITEMS)
    assert won.tolist() == [2.5, 0, 0]
    assert n_pairs.tolist() == [4, 0, 1]
    assert auc_within(WonPairs(won, n_pairs)).estimate == pytest.approx(2.5 / 5)


def test_pairs_of_an_item_are_the_statistic_of_mann_and_whitney() -> None:
    rng = np.random.default_rng(3)
    scores, right = rng.integers(0, 4, 60).astype(float), rng.random(60) < 0.4
    items = np.repeat(np.arange(6), 10)
    found = won_pairs(scores, right, items)
    for item in range(6):
        mine = items == item
        u = mannwhitneyu(scores[mine & right], scores[mine & ~right]).statistic
        assert found.won[item] == u
        assert found.n_pairs[item] == (mine & right).sum() * (mine & ~right).sum()


def test_what_is_easy_of_an_item_does_not_enter() -> None:
    shifted = np.asarray(SCORES) + np.array([100.0, -100, 0])[ITEMS]
    assert won_pairs(shifted, RIGHT, ITEMS).won.tolist() == [2.5, 0, 0]


def test_without_a_mixed_item_there_is_no_area() -> None:
    assert auc_within(won_pairs([1, 2], [True, True], np.array([0, 0]))) == (None, None, None)
    assert auc_within(won_pairs([], [], np.array([], int))) == (None, None, None)


def test_limits_count_items_and_not_pairs() -> None:
    """Twenty items of one pair, and twenty of sixteen alike pairs, say the same."""
    won = np.array([1.0] * 15 + [0.0] * 5)
    once, often = (
        auc_within(WonPairs(won, np.ones(20))),
        auc_within(WonPairs(won * 16, won * 0 + 16)),
    )
    assert once.estimate == often.estimate == 0.75
    assert often.lower is not None and once.lower is not None
    assert abs(often.lower - once.lower) < 0.02


def test_the_best_of_several_is_an_expectation_over_ties() -> None:
    """Item 0: 3 is right. Item 1: both right. Item 2: 7 is wrong."""
    assert chosen(SCORES, RIGHT, ITEMS).tolist() == [1, 1, 0]
    # All equal: a random answer, two of four, two of two, one of two.
    assert chosen(np.zeros(8), RIGHT, ITEMS).tolist() == [0.5, 1, 0.5]
    # A missing score is never chosen, unless all are missing.
    assert chosen([np.nan, 1, 2, 1, 4, 4, np.nan, np.nan], RIGHT, ITEMS).tolist() == [0, 1, 0.5]


def test_the_best_of_several_is_what_every_order_of_ties_gives_on_average() -> None:
    scores, right = [2.0, 2, 1, 2], [True, False, True, False]
    picked = [
        right[max(order, key=lambda i: scores[i])] for order in itertools.permutations(range(4))
    ]
    assert chosen(scores, right, np.zeros(4, int))[0] == pytest.approx(np.mean(picked))


def test_a_change_of_choice_is_mcnemars_where_both_choose_one() -> None:
    """Of ten items six are won and one lost: p = 2 (1 + 7) / 2**7."""
    after = np.array([1.0] * 6 + [0] + [1, 1, 0])
    before = np.array([0.0] * 6 + [1] + [1, 1, 0])
    found = change_of_choice(after, before)
    assert found.estimate == pytest.approx(0.5)
    assert found.p == pytest.approx(16 / 128)
    assert found.lower is not None and found.lower < 0.5 < (found.upper or 0)


def test_a_change_from_random_has_the_p_of_every_random_choice() -> None:
    """Three items with one right answer of four, of two, of four: all eight outcomes by hand."""
    share, best = np.array([0.25, 0.5, 0.25]), np.array([1.0, 1, 1])
    found = change_from_random(best, share, 4)
    p = 0.0
    for outcome in itertools.product((0, 1), repeat=3):
        chance = np.prod([f if right else 1 - f for f, right in zip(share, outcome, strict=True)])
        p += chance * (abs(sum(outcome) - 1) >= 2)
    assert found.p == pytest.approx(p) == pytest.approx(1 / 32)
    assert found.estimate == pytest.approx(2 / 3)


def test_a_change_from_one_of_two_is_the_binomial_test() -> None:
    best = np.array([1.0] * 14 + [0.0] * 6)
    found = change_from_random(best, np.full(20, 0.5), 2)
    assert found.p == pytest.approx(binomtest(14, 20).pvalue)


def test_a_choice_by_chance_is_no_change() -> None:
    share = np.array([0.25, 0.5, 1, 0])
    assert change_from_random(share, share, 4)[::3] == pytest.approx((0, 1))


def test_without_items_there_is_no_change() -> None:
    assert change_from_random(np.array([]), np.array([]), 1) == (None, None, None, None)
    assert change_of_choice(np.array([]), np.array([])) == (None, None, None, None)


RANDOM = np.random.default_rng(7)
POSITIVE = RANDOM.random(60) < 0.4
OF_TURNS = np.round(RANDOM.normal(size=60) + POSITIVE, 1)  # rounded, so that there are ties
ALONE = [str(i) for i in range(60)]


def score_limits(area: float, m: float, n: float) -> tuple[float, float]:
    """Return Newcombe's limits by method 5, from Hanley and McNeil's own Q1 and Q2 (1982)."""

    def beyond(a: float) -> float:
        q1, q2 = a / (2 - a), 2 * a**2 / (1 + a)
        others = (m + n) / 2 - 1
        variance = (a * (1 - a) + others * (q1 - a**2) + others * (q2 - a**2)) / (m * n)
        return (a - area) ** 2 - norm.ppf(0.975) ** 2 * variance

    lower = brentq(beyond, 1e-9, area - 1e-9)
    return lower, brentq(beyond, area + 1e-9, 1 - 1e-9) if area < 1 else 1.0


def hanley(area: float, m: int, n: int) -> float:
    """Return their variance of an area, the mean of both numbers in place of each."""
    others, q1, q2 = (m + n) / 2 - 1, area / (2 - area), 2 * area**2 / (1 + area)
    return (area * (1 - area) + others * (q1 + q2 - 2 * area**2)) / (m * n)


def test_area_is_mann_and_whitney_s_statistic_over_all_pairs() -> None:
    expected = mannwhitneyu(OF_TURNS[POSITIVE], OF_TURNS[~POSITIVE]).statistic
    expected /= POSITIVE.sum() * (~POSITIVE).sum()
    assert clustered_auc(OF_TURNS, POSITIVE, ALONE).estimate == pytest.approx(expected)


def test_turns_count_by_delong_s_variance_and_those_that_are_counted_twice_add_nothing() -> None:
    x, y = OF_TURNS[POSITIVE], OF_TURNS[~POSITIVE]
    kernel = (x[:, None] > y) + 0.5 * (x[:, None] == y)
    # DeLong et al. 1988, equation 5: the variances of both kinds of structural components.
    variance = kernel.mean(1).var(ddof=1) / len(x) + kernel.mean(0).var(ddof=1) / len(y)
    for times in (1, 2):
        m, n = times * len(x), times * len(y)
        effect = max(1.0, variance / hanley(kernel.mean(), m, n))
        found = clustered_auc(np.tile(OF_TURNS, times), np.tile(POSITIVE, times), ALONE * times)
        expected = score_limits(kernel.mean(), m / effect, n / effect)
        assert (found.lower, found.upper) == pytest.approx(expected)


def test_the_covariance_of_both_kinds_in_a_cluster_counts() -> None:
    # Two clusters with a positive and a negative each: positives 3 and 1, negatives 2 and 0.
    # Pairs: 3>2, 3>0, 1<2, 1>0, so 3/4. Placements of positives 1 and 1/2, of negatives 1/2 and 1.
    # Excess by cluster: (1/4, -1/4) and (-1/4, 1/4). Each kind: 2/1 (1/16 + 1/16) / 4 = 1/16.
    # Both: 2 x 2/1 (-1/16 - 1/16) / 4 = -1/8. Together 0: turns are worth no more than each alone.
    found = clustered_auc([3, 1, 2, 0], [True, True, False, False], ["a", "b", "a", "b"])
    assert found == pytest.approx((0.75, *score_limits(0.75, 2, 2)))


def test_an_area_of_one_is_as_certain_as_there_are_clusters() -> None:
    # Three positives in two clusters above three negatives in three.
    found = clustered_auc([5, 6, 7, 1, 2, 3], [True] * 3 + [False] * 3, ["a", "a", "b", *"cde"])
    assert found == pytest.approx((1.0, *score_limits(1.0, 2, 3)))


@pytest.mark.parametrize(
    ("scores", "positive", "clusters", "area"),
    [
        ([2.0, 1.0], [True, True], ["a", "b"], None),
        ([2.0, 1.0, 0.0], [True, False, False], ["a", "b", "c"], 1.0),
        ([1.0, 2.0, 0.0, 3.0], [True, True, False, False], ["a", "a", "b", "c"], 0.5),
    ],
)
def test_one_kind_or_one_cluster_of_a_kind_has_no_limits(
    scores: list[float], positive: list[bool], clusters: list[str], area: float | None
) -> None:
    assert clustered_auc(scores, positive, clusters) == (area, None, None)
