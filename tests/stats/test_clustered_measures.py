"""Clustered means: those of an independent implementation, and by hand."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import skew, t

from userturn.stats.clustered_measures import clustered_mean, mean_p


def skewed(seed: int) -> tuple[np.ndarray, list[str]]:
    """Return values of nine conversations with a long tail to the right."""
    random = np.random.default_rng(seed)
    clusters = random.integers(0, 9, 40)
    return np.exp(random.normal(size=40)) + clusters / 4, [str(c) for c in clusters]


def test_the_limit_away_from_the_long_tail_is_that_of_statsmodels_with_clustered_variance() -> None:
    values, clusters = skewed(0)
    groups = {"groups": np.array(clusters, int)}
    fit = sm.OLS(values, np.ones(40)).fit(cov_type="cluster", cov_kwds=groups, use_t=True)
    found = clustered_mean(values, clusters)
    lower, upper = fit.conf_int()[0]
    assert (found.estimate, found.lower) == pytest.approx((float(fit.params[0]), lower))
    assert found.upper is not None and found.upper > upper


def test_the_limit_towards_the_long_tail_is_where_halls_transformation_is_students_quantile() -> (
    None
):
    # g(T) = T + a T² / 3 + a² T³ / 27 + a / 6 with a = skewness / √n (Hall 1992, section 2.2).
    values = np.exp(np.random.default_rng(1).normal(size=30))
    found = clustered_mean(values, list(map(str, range(30))))
    assert found.upper is not None
    studentised = (values.mean() - found.upper) / (values.std(ddof=1) / 30**0.5)
    a = skew(values) / 30**0.5
    moved = studentised + a * studentised**2 / 3 + a**2 * studentised**3 / 27 + a / 6
    assert moved == pytest.approx(-t.ppf(0.975, 29))


@pytest.mark.parametrize("shift", [-3.5, -2.0, -1.0, 0.0])
def test_p_is_the_level_at_which_a_limit_is_zero(shift: float) -> None:
    values, clusters = skewed(0)
    p = mean_p(values + shift, clusters)
    found = clustered_mean(values + shift, clusters, 1 - p)
    assert found.lower is not None and found.upper is not None
    assert min(abs(found.lower), abs(found.upper)) == pytest.approx(0, abs=1e-6)


def test_values_that_are_all_alike_have_the_p_of_their_signs() -> None:
    assert mean_p([2.0] * 5, list("abcde")) == 2 * 0.5**5
    assert mean_p([0.0] * 5, list("abcde")) == mean_p([1.0, 2.0], ["a", "a"]) == 1


def test_limits_of_a_lognormal_mean_hold_it_where_student_s_do_not() -> None:
    # 60 of exp(N(0, 1)), of mean √e: Student's hold .90 of 10,000 samples.
    random, held = np.random.default_rng(0), 0
    names = list(map(str, range(60)))
    for _ in range(500):
        found = clustered_mean(np.exp(random.normal(size=60)), names)
        assert found.lower is not None and found.upper is not None
        held += found.lower <= np.e**0.5 <= found.upper
    assert held / 500 > 0.915


def test_values_alone_in_their_clusters_have_student_s_interval() -> None:
    # Mean 2, standard deviation 1, n = 3: 2 -+ 4.302653 / sqrt(3).
    found = clustered_mean([1.0, 2.0, 3.0], ["a", "b", "c"])
    assert (found.lower, found.upper) == pytest.approx((-0.484138, 4.484138), abs=1e-6)


def test_one_cluster_has_no_limits_and_no_value_no_mean() -> None:
    assert clustered_mean([1.0, 3.0], ["a", "a"]) == (2.0, None, None)
    assert clustered_mean([], []) == (None, None, None)
