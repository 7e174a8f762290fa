"""Area under the curve: Mann and Whitney's statistic, DeLong's variance, clusters."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import mannwhitneyu, t

from userturn.stats.auc import clustered_auc

RANDOM = np.random.default_rng(7)
POSITIVE = RANDOM.random(60) < 0.4
SCORES = np.round(RANDOM.normal(size=60) + POSITIVE, 1)  # rounded, so that there are ties
ALONE = [str(i) for i in range(60)]


def standard_error(found: tuple[float | None, float | None, float | None]) -> float:
    """Return the standard error that the limits, symmetric on the logit scale, were made with."""
    area, low, high = (float(x) for x in found if x is not None)
    fewest = min(POSITIVE.sum(), (~POSITIVE).sum())
    return float((logit(high) - logit(low)) / 2 / t.ppf(0.975, fewest - 1) * area * (1 - area))


def test_area_is_mann_and_whitney_s_statistic_over_all_pairs() -> None:
    expected = mannwhitneyu(SCORES[POSITIVE], SCORES[~POSITIVE]).statistic
    expected /= POSITIVE.sum() * (~POSITIVE).sum()
    assert clustered_auc(SCORES, POSITIVE, ALONE).estimate == pytest.approx(expected)


def test_without_clusters_the_variance_is_delong_s() -> None:
    x, y = SCORES[POSITIVE], SCORES[~POSITIVE]
    kernel = (x[:, None] > y) + 0.5 * (x[:, None] == y)
    # DeLong et al. 1988, equation 5: the variances of both kinds of structural components.
    variance = kernel.mean(1).var(ddof=1) / len(x) + kernel.mean(0).var(ddof=1) / len(y)
    found = clustered_auc(SCORES, POSITIVE, ALONE)
    assert standard_error(found) == pytest.approx(variance**0.5)


def test_turns_that_are_counted_twice_add_nothing() -> None:
    once = clustered_auc(SCORES, POSITIVE, ALONE)
    twice = clustered_auc(np.tile(SCORES, 2), np.tile(POSITIVE, 2), ALONE * 2)
    assert twice.estimate == once.estimate
    assert standard_error(twice) == pytest.approx(standard_error(once))


def test_the_covariance_of_both_kinds_in_a_cluster_counts() -> None:
    # Two clusters with a positive and a negative each: positives 3 and 1, negatives 2 and 0.
    # Pairs: 3>2, 3>0, 1<2, 1>0, so 3/4. Placements of positives 1 and 1/2, of negatives 1/2 and 1.
    # Excess by cluster: (1/4, -1/4) and (-1/4, 1/4). Each kind: 2/1 (1/16 + 1/16) / 4 = 1/16.
    # Both: 2 x 2/1 (-1/16 - 1/16) / 4 = -1/8. Together 0, which is no variance to make limits of.
    found = clustered_auc([3, 1, 2, 0], [True, True, False, False], ["a", "b", "a", "b"])
    assert found == (0.75, None, None)


@pytest.mark.parametrize(
    ("scores", "positive", "clusters", "area"),
    [
        ([2.0, 1.0], [True, True], ["a", "b"], None),
        ([2.0, 1.0, 0.0], [True, False, False], ["a", "b", "c"], 1.0),
        ([1.0, 2.0, 0.0, 3.0], [True, True, False, False], ["a", "a", "b", "c"], 0.5),
    ],
)
def test_one_kind_one_cluster_or_no_overlap_have_no_limits(
    scores: list[float], positive: list[bool], clusters: list[str], area: float | None
) -> None:
    assert clustered_auc(scores, positive, clusters) == (area, None, None)
