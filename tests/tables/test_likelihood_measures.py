"""Two models on reference follow-ups: pairs, differences on shared follow-ups, exact p, by hand."""

from typing import Any

import polars as pl
import pytest

from userturn.config.families import FamilyMember
from userturn.generation.scores import TURN
from userturn.tables.likelihood_measures import (
    CHARACTER,
    POST_TRAINING,
    Pair,
    likelihood_contrasts,
    pairs,
)

SIZE = Pair("size", "large", "small", ["large"], ["small"])
FAMILY = Pair("family", "b", "a", ["large"], ["small", "middle"])


def gains(values: dict[str, list[float | None]]) -> pl.DataFrame:
    """Follow-ups of 10 characters, each in a conversation of its own, with gains by model."""
    shared = dict.fromkeys(TURN) | {"dataset": "d", "n_characters": 10}
    shared |= {"gain_conversation": 1.0, "gain_role": 1.0, "identified_conversation": True}
    rows = [
        shared
        | {"model": model, "item": str(i), "conversation": str(i)}
        | {"gain_answer": gain, "identified_answer": None if gain is None else gain > 0}
        for model, of_model in values.items()
        for i, gain in enumerate(of_model)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def row_of(table: pl.DataFrame, measure: str, factor: str = "size") -> dict[str, Any]:
    wanted = (pl.col("measure") == measure) & (pl.col("factor") == factor)
    return table.filter(wanted).row(0, named=True)


def test_difference_is_over_the_follow_ups_that_both_scored() -> None:
    made = {"small": [0.0, 0.0, 0.0, 0.0, 9.0], "large": [10.0, 20.0, 30.0, 20.0, None]}
    row = row_of(likelihood_contrasts(gains(made), [SIZE]), "gain_answer")
    # 1, 2, 3 and 2 nats a character more; all four signs agree in 2 of 16 flips.
    assert (row["n_turns"], row["n_conversations"], row["unit"]) == (4, 4, CHARACTER)
    assert (row["mean_baseline"], row["mean_condition"], row["estimate"]) == (0.0, 2.0, 2.0)
    assert row["p"] == pytest.approx(2 / 16)
    assert row["lower"] < 2 < row["upper"]


def test_small_gains_are_tested_like_large_ones() -> None:
    made = {"small": [0.0] * 4, "large": [1e-4, 2e-4, 3e-4, 2e-4]}
    row = row_of(likelihood_contrasts(gains(made), [SIZE]), "gain_answer")
    assert row["p"] == pytest.approx(2 / 16)


def test_turns_of_one_conversation_are_flipped_together() -> None:
    made = gains({"small": [0.0] * 4, "large": [10.0] * 4})
    together = made.with_columns(conversation=pl.col("item").replace({"1": "0", "3": "2"}))
    row = row_of(likelihood_contrasts(together, [SIZE]), "gain_answer")
    assert (row["n_conversations"], row["p"]) == (2, pytest.approx(2 / 4))


def test_identification_is_compared_as_a_share() -> None:
    made = {"small": [-1.0, -1.0, 1.0, 1.0], "large": [1.0, 1.0, 1.0, -1.0]}
    row = row_of(likelihood_contrasts(gains(made), [SIZE]), "identified_answer")
    assert (row["mean_baseline"], row["mean_condition"], row["estimate"]) == (
        0.5,
        0.75,
        0.25,
    )


def test_two_models_that_identify_the_same_follow_ups_may_still_differ() -> None:
    made = {"small": [1.0, 1.0, 1.0, -1.0], "large": [2.0, 2.0, 2.0, -2.0]}
    row = row_of(likelihood_contrasts(gains(made), [SIZE]), "identified_answer")
    assert row["lower"] < row["estimate"] == 0 < row["upper"]


def test_a_family_is_the_mean_of_its_models_where_all_scored() -> None:
    made = {"small": [0.0, 0.0], "middle": [20.0, None], "large": [30.0, 30.0]}
    row = row_of(likelihood_contrasts(gains(made), [FAMILY]), "gain_answer", "family")
    assert (row["n_turns"], row["mean_baseline"], row["estimate"]) == (1, 1.0, 2.0)
    assert row["lower"] is None


def test_holm_adjusts_the_pairs_of_one_factor_and_measure() -> None:
    made = {"small": [0.0] * 4, "large": [10.0, 20.0, 30.0, 20.0], "huge": [0.0] * 4}
    found = likelihood_contrasts(
        gains(made), [SIZE, Pair("size", "huge", "large", ["huge"], ["large"])]
    )
    rows = found.filter(pl.col("measure") == "gain_answer")
    # Both p are 1/8: the smaller of two counts twice.
    assert rows["p_adjusted"].to_list() == pytest.approx([0.25, 0.25])


def test_models_without_shared_follow_ups_have_no_row() -> None:
    found = likelihood_contrasts(gains({"small": [1.0, None], "large": [None, 1.0]}), [SIZE])
    assert found.filter(pl.col("measure") == "gain_answer").is_empty()


def test_pairs_are_next_sizes_families_and_bases() -> None:
    members = [
        FamilyMember("a-1b", "a", 1.0, 1.0),
        FamilyMember("a-2b", "a", 2.0, 2.0),
        FamilyMember("a-2b-sft", "a", 2.0, 2.0),
        FamilyMember("a-4b", "a", 4.0, 4.0),
        FamilyMember("b", "b", None, None),
    ]
    assert list(pairs(members, {("a-2b-sft", "a-2b"): [("a-2b-sft", "a-2b")]})) == [
        Pair("size", "a-2b", "a-1b", ["a-2b"], ["a-1b"]),
        Pair("size", "a-4b", "a-2b", ["a-4b"], ["a-2b"]),
        Pair("family", "b", "a", ["b"], ["a-1b", "a-2b", "a-4b"]),
        Pair("post-training", "a-2b-sft", "a-2b", ["a-2b-sft"], ["a-2b"]),
    ]


def test_gain_by_a_recipe_is_over_its_trainings() -> None:
    # Changes of .2, .3 and .4 nats a character at each of 40 follow-ups: no follow-up differs from
    # another, so limits are the trainings' own, 4.303 * .1 / root 3 = .248 from the mean .3.
    made = {name: [10.0 * change] * 40 for name, change in (("a", 0.2), ("b", 0.3), ("c", 0.4))}
    recipe = Pair(POST_TRAINING, "a", "base", ["a", "b", "c"], ["base"] * 3)
    table = likelihood_contrasts(gains({**made, "base": [0.0] * 40}), [recipe])
    row = row_of(table, "gain_answer", POST_TRAINING)
    assert row["estimate"] == pytest.approx(0.3)
    assert row["lower"] == pytest.approx(0.3 - 0.2484, abs=1e-4)
    # Student's: t = .3 / (.1 / root 3) = 5.196 at 2 degrees of freedom.
    assert row["p"] == pytest.approx(0.0351, abs=1e-4)
