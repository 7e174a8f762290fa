"""Variance components: the analysis of variance by hand, and truths that simulations are given."""

import numpy as np
import pytest

from userturn.stats.variance_components import Components, variance_components


def of(y: np.ndarray) -> Components:
    """Return the components of a models x items x samples array of 0 and 1."""
    m, i, k = y.shape
    first, second = (levels.ravel() for levels in np.indices((m, i)))
    found = variance_components(first, second, np.full(m * i, k), y.sum(2).ravel())
    assert found is not None
    return found


def by_analysis_of_variance(y: np.ndarray) -> tuple[float, float, float, float]:
    """Return the components of a balanced design from mean squares (Searle et al. 1992, 4.3)."""
    m, i, k = y.shape
    cell, model, item, mean = y.mean(2), y.mean((1, 2)), y.mean((0, 2)), y.mean()
    of_models = i * k * ((model - mean) ** 2).sum() / (m - 1)
    of_items = m * k * ((item - mean) ** 2).sum() / (i - 1)
    rest = cell - model[:, None] - item[None, :] + mean
    of_both = k * (rest**2).sum() / ((m - 1) * (i - 1))
    within = ((y - cell[:, :, None]) ** 2).sum() / (m * i * (k - 1))
    return (
        (of_models - of_both) / (i * k),
        (of_items - of_both) / (m * k),
        (of_both - within) / k,
        within,
    )


def drawn(
    rng: np.random.Generator, shape: tuple[int, int, int], scales: tuple[float, float, float]
) -> np.ndarray:
    """Return 0 and 1 whose chances are a half plus uniform effects of models, items and both."""
    m, i, k = shape
    chance = (
        0.5 + scales[0] * rng.uniform(-1, 1, (m, 1, 1)) + scales[1] * rng.uniform(-1, 1, (1, i, 1))
    )
    chance = chance + scales[2] * rng.uniform(-1, 1, (m, i, 1))
    return (rng.random((m, i, k)) < chance).astype(int)


@pytest.mark.parametrize("shape", [(2, 3, 2), (4, 25, 3), (11, 40, 5)])
def test_components_of_a_balanced_design_are_those_of_the_analysis_of_variance(
    shape: tuple[int, int, int],
) -> None:
    y = drawn(np.random.default_rng(1), shape, (0.1, 0.2, 0.1))
    assert tuple(of(y)) == pytest.approx(by_analysis_of_variance(y))


def test_components_by_hand() -> None:
    # One model, items with 2, 1 and 0 of 2: pairs within items 1, 0, 0 -> 1/3; mean square 1/2;
    # pairs between items (3^2 - 5) / (36 - 12) = 1/6.
    found = of(np.array([[[1, 1], [1, 0], [0, 0]]]))
    assert found.second == pytest.approx(1 / 3 - 1 / 6)
    assert found.rest == pytest.approx(1 / 2 - 1 / 3)
    assert (found.first, found.both) == (None, None)


def test_estimates_are_unbiased_though_turns_are_missing() -> None:
    # Variance of a uniform effect of half-width s: s^2 / 3.
    rng = np.random.default_rng(0)
    scales = (0.1, 0.25, 0.1)
    found = []
    for _ in range(600):
        y = drawn(rng, (6, 40, 3), scales)
        seen = rng.random(y.shape) < 0.7
        n, positive = seen.sum(2).ravel(), (y * seen).sum(2).ravel()
        first, second = (levels.ravel() for levels in np.indices((6, 40)))
        kept = n > 0
        one = variance_components(first[kept], second[kept], n[kept], positive[kept])
        assert one is not None
        found.append(one)
    means, errors = np.mean(found, axis=0), np.std(found, axis=0) / 600**0.5
    truth = np.array([s**2 / 3 for s in scales])
    assert (np.abs(means[:3] - truth) < 4 * errors[:3]).all()
    assert means.sum() == pytest.approx(0.25, abs=0.005)  # p (1 - p)


def test_one_sample_an_item_leaves_the_combinations_in_the_rest() -> None:
    y = drawn(np.random.default_rng(2), (5, 30, 1), (0.1, 0.2, 0.1))
    found = of(y)
    assert found.both is None and found.first is not None and found.second is not None
    assert found.rest > 0


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 4)])
def test_one_item_of_one_model_has_no_components(shape: tuple[int, int, int]) -> None:
    m, i, k = shape
    y = np.ones(shape, dtype=int)
    assert variance_components(np.zeros(m), np.zeros(i), np.array([k]), y.sum(2).ravel()) is None
