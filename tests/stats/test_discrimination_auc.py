"""Area under the curve: Mann and Whitney's statistic, Newcombe's limits, DeLong's variance."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import mannwhitneyu, norm

from userturn.stats.discrimination import clustered_auc

RANDOM = np.random.default_rng(7)
POSITIVE = RANDOM.random(60) < 0.4
SCORES = np.round(RANDOM.normal(size=60) + POSITIVE, 1)  # rounded, so that there are ties
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
    expected = mannwhitneyu(SCORES[POSITIVE], SCORES[~POSITIVE]).statistic
    expected /= POSITIVE.sum() * (~POSITIVE).sum()
    assert clustered_auc(SCORES, POSITIVE, ALONE).estimate == pytest.approx(expected)


def test_turns_count_by_delong_s_variance_and_those_that_are_counted_twice_add_nothing() -> None:
    x, y = SCORES[POSITIVE], SCORES[~POSITIVE]
    kernel = (x[:, None] > y) + 0.5 * (x[:, None] == y)
    # DeLong et al. 1988, equation 5: the variances of both kinds of structural components.
    variance = kernel.mean(1).var(ddof=1) / len(x) + kernel.mean(0).var(ddof=1) / len(y)
    for times in (1, 2):
        m, n = times * len(x), times * len(y)
        effect = max(1.0, variance / hanley(kernel.mean(), m, n))
        found = clustered_auc(np.tile(SCORES, times), np.tile(POSITIVE, times), ALONE * times)
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
