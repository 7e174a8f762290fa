"""Clustered means: those of an independent implementation, and by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import skew, t

from userturn.stats.clustered_measures import (
    Counted,
    Measure,
    clustered_mean,
    counted,
    distinct,
    hdd,
    jackknife_interval,
    mean_p,
    window_shares,
    yules_k,
)


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


WORDS = [(i * i * 7 + i // 3) % 61 for i in range(400)]
CLUSTERS = [i // 20 for i in range(400)]


def test_values_are_those_of_lexicalrichness() -> None:
    # lexicalrichness 0.5.1, of " ".join(f"w{n}" for n in WORDS): mattr(50), hdd(42), yulek, ttr.
    n = np.bincount(WORDS)
    assert float(window_shares(WORDS, 50).mean()) == pytest.approx(0.6878062678062667, abs=1e-9)
    assert hdd(n) == pytest.approx(0.6877747137383438, abs=1e-9)
    assert yules_k(n) == pytest.approx(196.0, abs=1e-9)
    assert distinct(n) == pytest.approx(0.1325, abs=1e-12)


def test_each_window_has_the_share_of_different_words_in_it() -> None:
    # a b a a: windows a b a, b a a.
    assert window_shares([0, 1, 0, 0], 3).tolist() == pytest.approx([2 / 3, 2 / 3])
    expected = [len(set(WORDS[i : i + 50])) / 50 for i in range(351)]
    assert window_shares(WORDS, 50).tolist() == pytest.approx(expected)
    assert len(window_shares(WORDS[:49], 50)) == 0


def test_a_word_that_is_in_every_draw_counts_wholly() -> None:
    # 50 words, of which one is there 9 times: 41 are not, so a draw of 42 has it. The other 41
    # words are there once, each in a draw with the chance 42 / 50.
    assert hdd(np.array([9] + [1] * 41)) == pytest.approx((1 + 41 * 42 / 50) / 42)
    assert hdd(np.array([20, 21])) is None  # fewer words than are drawn


def without(cluster: int) -> list[int]:
    return [word for word, of in zip(WORDS, CLUSTERS, strict=True) if of != cluster]


@pytest.mark.parametrize("measure", [distinct, hdd, yules_k])
def test_limits_are_the_jackknifes_over_clusters(measure: Measure) -> None:
    # Student's quantile at 19 degrees of freedom is 2.0930.
    left = np.array([measure(np.bincount(without(cluster), minlength=61)) for cluster in range(20)])
    reach = 2.0930240544 * (19 / 20 * ((left - left.mean()) ** 2).sum()) ** 0.5
    found = jackknife_interval(counted(WORDS, CLUSTERS), measure, 1e9)
    whole = measure(np.bincount(WORDS))
    assert whole is not None
    assert found == pytest.approx((whole, whole - reach, whole + reach), abs=1e-9)


def test_one_cluster_has_no_limits_and_a_share_is_at_most_one() -> None:
    assert jackknife_interval(counted([0, 1, 1], [0, 0, 0]), distinct) == (2 / 3, None, None)
    different = jackknife_interval(counted([0, 1, 2, 2, 3], [0, 0, 1, 1, 2]), distinct)
    assert different.upper == 1


def texts(rng: np.random.Generator, n: int, chances: Sequence[float]) -> Counted:
    """Return the words of texts of 5 to 39 words, of which each repeats some words of its own."""
    words, of = [], []
    for cluster in range(n):
        size = int(rng.integers(5, 40))
        own = rng.integers(0, len(chances), 30)
        drawn = rng.choice(len(chances), size, p=chances)
        words.append(np.where(rng.random(size) < 0.3, rng.choice(own, size), drawn))
        of.append(np.full(size, cluster))
    return counted(np.concatenate(words), np.concatenate(of))


def test_limits_hold_what_other_texts_of_as_many_items_have_on_average() -> None:
    chances = 1 / np.arange(1, 1001)
    rng = np.random.default_rng(0)
    studies = [texts(rng, 30, list(chances / chances.sum())) for _ in range(150)]
    for measure in (distinct, hdd):
        found = [jackknife_interval(study, measure) for study in studies]
        truth = np.mean([one.estimate for one in found])
        held = [one.lower <= truth <= one.upper for one in found if one.lower and one.upper]
        assert np.mean(held) > 0.9
