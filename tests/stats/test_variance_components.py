"""Variance components: the analysis of variance by hand, and truths that simulations are given."""

import numpy as np
import pytest

from userturn.stats.variance_components import Components, Observed, variance_components


def observed(n: np.ndarray, positive: np.ndarray) -> Observed:
    """Return models x items, each item its own cluster, without combinations that were not seen."""
    first, second = (levels.ravel() for levels in np.indices(n.shape))
    kept = n.ravel() > 0
    return Observed(*(v[kept] for v in (first, second, second, n.ravel(), positive.ravel())))


def of(y: np.ndarray) -> Components:
    """Return the components of a models x items x samples array of 0 and 1."""
    found = variance_components(observed(np.full(y.shape[:2], y.shape[2]), y.sum(2)))
    assert found is not None
    return found


def estimates(found: Components) -> list[float | None]:
    return [part.estimate for part in found]


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
    assert estimates(of(y)) == pytest.approx(by_analysis_of_variance(y))


def test_components_by_hand() -> None:
    # One model, items with 2, 1 and 0 of 2: pairs within items 1, 0, 0 -> 1/3; mean square 1/2;
    # pairs between items (3^2 - 5) / (36 - 12) = 1/6.
    found = of(np.array([[[1, 1], [1, 0], [0, 0]]]))
    assert estimates(found) == [None, pytest.approx(1 / 6), None, pytest.approx(1 / 6)]


def test_estimates_are_unbiased_though_turns_are_missing() -> None:
    # Variance of a uniform effect of half-width s: s^2 / 3.
    rng = np.random.default_rng(0)
    scales = (0.1, 0.25, 0.1)
    found = []
    for _ in range(600):
        y = drawn(rng, (6, 40, 3), scales)
        seen = rng.random(y.shape) < 0.7
        one = variance_components(observed(seen.sum(2), (y * seen).sum(2)))
        assert one is not None
        found.append(np.array(estimates(one), dtype=float))
    means, errors = np.mean(found, axis=0), np.std(found, axis=0) / 600**0.5
    truth = np.array([s**2 / 3 for s in scales])
    assert (np.abs(means[:3] - truth) < 4 * errors[:3]).all()
    assert means.sum() == pytest.approx(0.25, abs=0.005)  # p (1 - p)


def test_one_sample_an_item_leaves_the_combinations_in_the_rest() -> None:
    y = drawn(np.random.default_rng(2), (5, 30, 1), (0.1, 0.2, 0.1))
    one, other, both, rest = estimates(of(y))
    assert both is None and one is not None and other is not None
    assert rest is not None and rest > 0


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 4)])
def test_one_item_of_one_model_has_no_components(shape: tuple[int, int, int]) -> None:
    y = np.ones(shape, dtype=int)
    assert variance_components(observed(np.full((1, 1), shape[2]), y.sum(2))) is None


def test_limits_by_hand() -> None:
    # One model, items with 2, 1, 1 and 0 of 2. Pairs of turns that share an item: 2 products of 8;
    # pairs that do not: 4^2 - (4 + 1 + 1) = 10 of 48. Items 1/4 - 5/24 = 1/24. Without the first:
    # 0 of 6 and 2^2 - 2 = 2 of 24, so -1/12; without the last: 1/3 and (16 - 6) / 24 = 5/12, so
    # -1/12; without one of the middle: 1/3 and (9 - 5) / 24 = 1/6, so 1/6. Pulls 3 (1/24 - each):
    # 3/8, 3/8, -3/8, -3/8, sum of squares 9/16. Half an item with none: 1/5 and 10 / 80 = 1/8, so
    # 3/40, pull 5 (3/40 - 1/24) = 1/6. With all, 4/10 and (36 - 10) / 80 = 13/40, so 3/40 too; and
    # once more, as the one model alone. With one of two: 2/10 and (25 - 7) / 80 = 9/40, pull
    # 5 (-1/40 - 1/24) = -1/3. Variance (9/16 + 1/2 (3/36 + 1/9)) / (4 * 3).
    y = np.array([[[1, 1], [1, 0], [0, 1], [0, 0]]])
    estimate, lower, upper = of(y).second
    half = 3.182446 * ((9 / 16 + 7 / 72) / 12) ** 0.5  # Student's quantile, 3 degrees of freedom
    assert estimate == pytest.approx(1 / 24)
    assert (lower, upper) == pytest.approx((1 / 24 - half, 1 / 24 + half))


def test_limits_keep_the_levels_of_a_cluster_together() -> None:
    # Twice the same turns in every item: nothing new, so limits are as wide as of one.
    y = drawn(np.random.default_rng(3), (3, 60, 1), (0.1, 0.3, 0.1))
    once = observed(np.ones((3, 60), dtype=int), y.sum(2))
    twice = Observed(
        np.tile(once.first, 2),
        np.concatenate([once.second, once.second + 60]),
        np.tile(once.clusters, 2),
        np.tile(once.n, 2),
        np.tile(once.n_positive, 2),
    )
    widths = []
    for seen in (once, twice):
        found = variance_components(seen)
        assert found is not None and found.rest.upper is not None and found.rest.lower is not None
        widths.append(found.rest.upper - found.rest.lower)
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_components_of_equal_verdicts_are_not_certain() -> None:
    for value in (0, 1):
        for part in of(np.full((3, 30, 2), value)):
            assert part.estimate == 0
            assert part.lower is not None and part.upper is not None
            assert part.lower <= 0 < part.upper


def test_limits_between_two_models_are_those_of_their_difference_squared() -> None:
    chance = np.array([[0.6], [0.4]])
    y = (np.random.default_rng(5).random((2, 2000)) < chance).astype(int)
    apart = y[0] - y[1]
    middle, half = abs(apart.mean()), 1.961 * apart.std() / 2000**0.5
    found = variance_components(observed(np.ones((2, 2000), dtype=int), y))
    assert found is not None
    expected = ((middle - half) ** 2 / 2, (middle + half) ** 2 / 2)
    assert found.first[1:] == pytest.approx(expected, rel=0.01)


def test_what_one_item_alone_cannot_tell_has_no_limits_over_two() -> None:
    found = of(np.array([[[1, 1], [1, 0]], [[0, 1], [1, 1]]]))
    assert all(part.estimate is not None for part in found)
    assert [part.lower is None for part in found] == [True, True, True, False]
