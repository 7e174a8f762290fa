"""The trial of a judge by likelihoods fits, folds and sets its threshold as it says."""

from math import log

import numpy as np
import polars as pl
import pytest

from benchmarks.likelihood_judge import N_FOLDS, cross_validated, fitted, trained_on


def test_weight_of_a_constant_is_the_log_odds() -> None:
    # Three of four are genuine: log(3 / 1). The first weight has no penalty.
    weights = fitted(np.ones((4, 1)), np.array([1.0, 1.0, 1.0, 0.0]))
    assert weights == pytest.approx([log(3)])


def test_weights_are_where_the_slope_of_likelihood_and_ridge_is_zero() -> None:
    random = np.random.default_rng(3)
    x = np.column_stack([np.ones(40), random.normal(size=(40, 2))])
    y = (random.random(40) < 0.4).astype(float)
    weights = fitted(x, y)
    p = 1 / (1 + np.exp(-x @ weights))
    assert x.T @ (y - p) == pytest.approx([0, weights[1], weights[2]], abs=1e-9)  # a ridge of 1


def turns(x: list[float], genuine: list[bool], conversation: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"x": x, "genuine": genuine, "conversation": conversation})


def test_a_tenth_of_the_training_turns_that_are_not_genuine_pass_the_threshold() -> None:
    found = turns([*range(10), *range(6, 16)], [False] * 10 + [True] * 10, ["c"] * 20)
    scores = trained_on(found, found, ["x"])
    # The 90th percentile of 0 to 9 is 8.1 (between the 9th and the 10th): only 9 is above.
    assert (scores[:10] > 0).tolist() == [False] * 9 + [True]


def test_no_turn_is_scored_by_a_judge_that_saw_its_conversation() -> None:
    random = np.random.default_rng(5)
    names = [f"c{n}" for n in range(4 * N_FOLDS) for _ in range(2)]
    x = random.normal(size=len(names)).tolist()
    genuine = [n % 2 == 0 for n in range(len(names))]
    found = turns(x, genuine, names)
    flipped = found.with_columns(genuine=pl.col("genuine") ^ (pl.col("conversation") == "c0"))
    own = (found["conversation"] == "c0").to_numpy()
    before, after = (cross_validated(each, ["x"]) for each in (found, flipped))
    assert before[own].tolist() == after[own].tolist()  # its own labels do not matter
    assert not np.allclose(before[~own], after[~own])
