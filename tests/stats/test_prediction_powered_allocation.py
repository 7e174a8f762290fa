"""Neyman's allocation: against every other allocation, and what bounds it."""

from itertools import product

import numpy as np
import pytest

from userturn.stats.prediction_powered import allocated


def variance(sizes: np.ndarray, spreads: np.ndarray, n: np.ndarray) -> float:
    """Return the variance of a stratified mean, with finite strata (Cochran 1977, eq. 5.6)."""
    return float(((sizes * spreads) ** 2 * (1 / n - 1 / sizes)).sum() / sizes.sum() ** 2)


@pytest.mark.parametrize(
    ("sizes", "spreads", "n"),
    [([60, 30, 10], [0.5, 0.2, 0.1], 20), ([50, 5, 40], [0.1, 0.5, 0.4], 25)],
)
def test_no_other_allocation_has_a_smaller_variance(
    sizes: list[int], spreads: list[float], n: int
) -> None:
    size, spread = np.array(sizes), np.array(spreads)
    found = variance(size, spread, allocated(size, spread, n))
    others = [
        variance(size, spread, np.array(drawn))
        for drawn in product(*(range(1, s + 1) for s in sizes))
        if sum(drawn) == n
    ]
    assert found <= 1.01 * min(others)  # whole numbers are rounded, not searched


def test_strata_get_labels_in_proportion_to_size_times_spread() -> None:
    assert allocated(np.array([1000, 1000, 2000]), np.array([0.1, 0.3, 0.3]), 100).tolist() == [
        10, 30, 60,
    ]  # fmt: skip


def test_small_stratum_gives_all_that_it_has_and_others_the_rest() -> None:
    assert allocated(np.array([10, 500]), np.array([0.5, 0.005]), 30).tolist() == [10, 20]


def test_each_stratum_has_its_least_though_its_labels_are_all_alike() -> None:
    assert allocated(np.array([100, 100, 1]), np.array([0.0, 0.5, 0.0]), 30, 2).tolist() == [
        2, 27, 1,
    ]  # fmt: skip


@pytest.mark.parametrize(("n", "expected"), [(0, 3), (50, 50), (500, 115)])
def test_total_is_what_is_asked_for_within_what_there_is(n: int, expected: int) -> None:
    found = allocated(np.array([100, 10, 5]), np.array([0.1, 0.5, 0.3]), n)
    assert found.sum() == expected
    assert (found <= [100, 10, 5]).all()
