"""Interactions: the difference of two changes, against scipy and by hand."""

import numpy as np
import pytest
from scipy.stats import permutation_test, t

from userturn.stats.interaction import Interaction, interaction
from userturn.stats.paired import Shares


def once(before: np.ndarray, after: np.ndarray) -> Shares:
    """Return items of one turn under each condition."""
    return Shares(before.astype(float), after.astype(float), np.ones(len(before)), 1.0, 1.0)


def of(first: Shares, second: Shares) -> Interaction:
    return interaction(first, second, (first, second))


def test_difference_of_two_changes_by_hand() -> None:
    # The first group goes from 1 to 3 of 4 items (+.5), the second from 2 to 1 (-.25).
    first = once(np.array([1, 0, 0, 0]), np.array([1, 1, 1, 0]))
    second = once(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0]))
    found = of(first, second)
    assert (found.first.estimate, found.second.estimate) == (0.5, -0.25)
    assert found.difference.estimate == 0.75
    # Changes differ by 0, 2, 1, 0: both that differ have one sign: p = 2 / 2^2.
    assert found.p == pytest.approx(0.5)


def test_p_is_that_of_scipys_sign_flips() -> None:
    rng = np.random.default_rng(3)
    four = rng.random((4, 12)) < np.array([[0.3], [0.8], [0.4], [0.5]])
    first, second = once(four[0], four[1]), once(four[2], four[3])
    change = (first.after - first.before) - (second.after - second.before)
    exact = permutation_test((change,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert of(first, second).p == pytest.approx(exact.pvalue)


def test_limits_of_many_items_are_those_of_students_t_on_the_items_differences() -> None:
    rng = np.random.default_rng(1)
    chance = rng.beta(2, 3, 4000)
    four = rng.random((4, 4000)) < chance + np.array([[0.0], [0.1], [0.0], [-0.05]])
    first, second = once(four[0], four[1]), once(four[2], four[3])
    change = (first.after - first.before) - (second.after - second.before)
    half = t.ppf(0.975, 3999) * change.std(ddof=1) / 4000**0.5
    found = of(first, second).difference
    expected = (change.mean(), change.mean() - half, change.mean() + half)
    assert (found.estimate, found.lower, found.upper) == pytest.approx(expected, abs=1e-3)


def test_changes_that_were_never_seen_are_not_certain() -> None:
    still = once(np.zeros(30), np.zeros(30))
    found = of(still, still)
    assert (found.difference.estimate, found.p) == (0, 1)
    assert found.difference.lower is not None and found.difference.upper is not None
    assert found.difference.upper - found.difference.lower > 0.2
