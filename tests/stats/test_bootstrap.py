"""Bootstrap and sign flips over items agree with the plain ones, and cover as they say."""

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap, permutation_test

from userturn.stats.bootstrap import Patterns, clustered_mean, clustered_rate, sign_flip_p
from userturn.stats.proportions import wilson


def patterns(scored: list[int], positive: list[int]) -> Patterns:
    """Count items one by one: every item is a pattern of its own."""
    return Patterns(np.ones(len(scored)), np.array(scored, float), np.array(positive, float))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_bootstrap_over_items_has_the_limits_of_scipys() -> None:
    positive = rng().binomial(5, 0.3, 200)
    scored = np.full(200, 5)
    interval, method = clustered_rate(
        [patterns(list(scored), list(positive))], "micro", 9999, rng()
    )
    other = bootstrap(
        (positive, scored),
        lambda p, s, axis: p.sum(axis) / s.sum(axis),
        paired=True,
        method="percentile",
        n_resamples=9999,
        batch=500,
        rng=rng(1),
    ).confidence_interval
    assert method == "bootstrap over items"
    assert interval.estimate == positive.sum() / 1000
    assert (interval.lower, interval.upper) == pytest.approx((other.low, other.high), abs=0.003)


def test_items_of_equal_counts_may_be_counted_together() -> None:
    alone = patterns([2] * 10, [1] * 6 + [2] * 4)
    together = Patterns(np.array([6.0, 4.0]), np.array([2.0, 2.0]), np.array([1.0, 2.0]))
    a, b = (clustered_rate([p], "micro", 20000, rng())[0] for p in (alone, together))
    assert a.estimate == b.estimate == 14 / 20
    assert (a.lower, a.upper) == pytest.approx((b.lower, b.upper), abs=0.01)


def test_one_turn_an_item_has_the_wilson_interval() -> None:
    found, method = clustered_rate([patterns([1] * 40, [1] * 7 + [0] * 33)], "micro", 100, rng())
    assert (found, method) == (wilson(7, 40), "Wilson")


def test_macro_weighs_datasets_equally_and_micro_turns() -> None:
    # 1 of 2 and 0 of 8: micro 1/10, macro (1/2 + 0) / 2.
    datasets = [patterns([1, 1], [1, 0]), patterns([1] * 8, [0] * 8)]
    assert clustered_rate(datasets, "micro", 100, rng())[0].estimate == 1 / 10
    assert clustered_rate(datasets, "macro", 100, rng())[0].estimate == 1 / 4


@pytest.mark.parametrize("positive", [0, 5])
def test_none_or_all_positive_is_no_false_certainty(positive: int) -> None:
    # 5 samples of each of 10 items: as sure as 10 items, not as 50 turns, nor certain.
    found, method = clustered_rate([patterns([5] * 10, [positive] * 10)], "micro", 100, rng())
    assert (found, method) == (wilson(10 if positive else 0, 10), "Wilson over items")


@pytest.mark.parametrize("datasets", [[], [patterns([0, 0], [0, 0])]])
def test_nothing_scored_has_no_rate(datasets: list[Patterns]) -> None:
    assert clustered_rate(datasets, "macro", 100, rng())[0] == (None, None, None)


@pytest.mark.parametrize("scored", [[1], [3], [0, 2]])
def test_a_single_item_has_an_interval_that_holds_its_rate(scored: list[int]) -> None:
    found, _ = clustered_rate([patterns(scored, [min(n, 1) for n in scored])], "micro", 200, rng())
    assert found.lower is not None and found.estimate is not None and found.upper is not None
    assert 0 <= found.lower <= found.estimate <= found.upper <= 1


def test_bootstrap_covers_where_turns_of_an_item_are_alike() -> None:
    # The share of each item is Beta(2, 6), mean 1/4. Wilson over turns would cover far less.
    draw = rng(5)
    hits = naive = 0
    for _ in range(300):
        positive = draw.binomial(5, draw.beta(2, 6, 100))
        found, _ = clustered_rate([patterns([5] * 100, list(positive))], "micro", 400, draw)
        plain = wilson(int(positive.sum()), 500)
        hits += bool(found.lower <= 0.25 <= found.upper)  # type: ignore[operator]
        naive += bool(plain.lower <= 0.25 <= plain.upper)  # type: ignore[operator]
    assert 0.91 <= hits / 300 <= 0.98
    assert naive < hits


def test_mean_has_the_bootstrap_interval_of_scipy() -> None:
    values, counts = np.array([-0.4, 0.0, 0.6]), np.array([20.0, 50.0, 30.0])
    found = clustered_mean(values, counts, 9999, rng())
    each = np.repeat(values, counts.astype(int))
    other = bootstrap((each,), np.mean, method="percentile", rng=rng(1)).confidence_interval
    assert found.estimate == pytest.approx((-8 + 18) / 100)
    assert (found.lower, found.upper) == pytest.approx((other.low, other.high), abs=0.006)


def test_sign_flips_have_the_p_of_scipys_permutation_test() -> None:
    change = np.round(rng(3).choice([-0.4, -0.2, 0.0, 0.2, 0.6], 30), 1)
    values, counts = np.unique(change, return_counts=True)
    other = permutation_test(
        (change,), np.mean, permutation_type="samples", n_resamples=9999, rng=rng(2)
    )
    ours = sign_flip_p(values, counts.astype(float), 9999, rng())
    assert ours == pytest.approx(other.pvalue, abs=0.02)


def test_sign_flips_of_single_turns_are_the_sign_test() -> None:
    # 12 up, 3 down, 20 unchanged: the binomial test of 3 in 15.
    values, counts = np.array([-1.0, 0.0, 1.0]), np.array([3.0, 20.0, 12.0])
    ours = sign_flip_p(values, counts, 20000, rng())
    assert ours == pytest.approx(binomtest(3, 15).pvalue, abs=0.01)


def test_no_change_at_all_has_p_of_one() -> None:
    assert sign_flip_p(np.array([0.0]), np.array([9.0]), 100, rng()) == 1
