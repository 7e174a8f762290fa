"""Clustered means: those of an independent implementation, and by hand."""

import numpy as np
import pytest
import statsmodels.api as sm

from userturn.stats.clustered_means import clustered_mean


def test_limits_are_those_of_statsmodels_with_the_cluster_robust_variance() -> None:
    random = np.random.default_rng(0)
    clusters = random.integers(0, 9, 40)
    values = random.normal(size=40) + clusters / 4
    fit = sm.OLS(values, np.ones(40)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    found = clustered_mean(values, [str(c) for c in clusters])
    assert found.estimate == pytest.approx(float(fit.params[0]))
    assert (found.lower, found.upper) == pytest.approx(tuple(fit.conf_int()[0]))


def test_values_alone_in_their_clusters_have_student_s_interval() -> None:
    # Mean 2, standard deviation 1, n = 3: 2 -+ 4.302653 / sqrt(3).
    found = clustered_mean([1.0, 2.0, 3.0], ["a", "b", "c"])
    assert (found.lower, found.upper) == pytest.approx((-0.484138, 4.484138), abs=1e-6)


def test_one_cluster_has_no_limits_and_no_value_no_mean() -> None:
    assert clustered_mean([1.0, 3.0], ["a", "a"]) == (2.0, None, None)
    assert clustered_mean([], []) == (None, None, None)
