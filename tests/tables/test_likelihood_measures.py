"""How likely models find reference follow-ups, and models compared on the same ones."""

import math
from typing import Any

import polars as pl
import pytest

from userturn.config.families import FamilyMember
from userturn.generation.scores import SCORES_SCHEMA, TURN
from userturn.stats.clustered_measures import clustered_mean
from userturn.tables.likelihood_measures import (
    CHARACTER,
    NO_ENDINGS,
    POST_TRAINING,
    TOKEN,
    WHOLE,
    Pair,
    ending,
    likelihood_contrasts,
    measures,
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
    assert (row["mean_baseline"], row["mean_condition"], row["estimate"]) == (0.5, 0.75, 0.25)


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
    rows = found.filter(measure="gain_answer")
    # Both p are 1/8: the smaller of two counts twice.
    assert rows["p_adjusted"].to_list() == pytest.approx([0.25, 0.25])


def test_models_without_shared_follow_ups_have_no_row() -> None:
    found = likelihood_contrasts(gains({"small": [1.0, None], "large": [None, 1.0]}), [SIZE])
    assert found.filter(measure="gain_answer").is_empty()


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


def turns() -> pl.DataFrame:
    """Three turns of two conversations: two identified among four contexts, one not scored."""
    shared = dict.fromkeys(TURN) | {"model": "m", "dataset": "d"}
    rows = [
        {"item": "a", "conversation": "x", "gain_answer": 4.0, "identified_answer": True},
        {"item": "b", "conversation": "x", "gain_answer": 2.0, "identified_answer": True},
        {"item": "c", "conversation": "y", "gain_answer": None, "identified_answer": None},
    ]
    empty = dict.fromkeys(("gain_conversation", "gain_role", "surprisal"), 1.0)
    known = {"n_tokens": 2, "n_characters": 8, "n_answers": 3, "n_conversations": 3}
    more = {"identified_conversation": True, "error": None}
    made = [shared | known | empty | more | row for row in rows]
    made[2]["error"] = "too long"
    return pl.DataFrame(made, infer_schema_length=None)


@pytest.fixture
def table() -> dict[tuple[str, str], dict[str, Any]]:
    made = pl.DataFrame(list(measures(turns())), infer_schema_length=None)
    return {(row["measure"], row["unit"]): row for row in made.to_dicts()}


def test_identification_is_a_share_of_scored_turns_beside_chance(
    table: dict[tuple[str, str], dict[str, Any]],
) -> None:
    row = table["identified_answer", "share"]
    assert (row["estimate"], row["chance"]) == (1.0, 0.25)
    assert (row["n_scored"], row["n_turns"], row["n_conversations"]) == (2, 3, 1)
    assert row["lower"] < 1


def test_gains_are_means_over_turns_in_nats_a_character_a_token_and_a_turn(
    table: dict[tuple[str, str], dict[str, Any]],
) -> None:
    # (4 / 2 + 2 / 2) / 2 = 1.5 a token, (4 / 8 + 2 / 8) / 2 = 0.375 a character, (4 + 2) / 2 = 3.
    assert table["gain_answer", WHOLE]["estimate"] == 3
    assert table["gain_answer", TOKEN]["estimate"] == 1.5
    assert table["gain_answer", CHARACTER]["estimate"] == 0.375


def test_turns_without_a_value_say_why(table: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert table["gain_answer", TOKEN]["reason"] == "too long"


def scores(*rows: tuple[str, str, float | None]) -> pl.DataFrame:
    """Return scores of contexts, each of one conversation: its kind, and the log-likelihood."""
    shared = {"model": "m", "dataset": "d"}
    made = [
        shared
        | {"item": c, "conversation": c, "context": kind, "logprob": logprob}
        | {"error": "too long" if logprob is None else None}
        for kind, c, logprob in rows
    ]
    return pl.DataFrame(made, schema=SCORES_SCHEMA)


def test_the_end_at_once_is_the_mean_probability_of_the_token_that_ends_a_turn() -> None:
    found = ending(
        scores(
            ("ending", "x", math.log(0.5)),
            ("ending", "y", math.log(0.1)),
            ("ending", "z", None),
            ("own", "x", -9.0),
        )
    )
    assert (found["measure"], found["unit"]) == ("ends_at_once", "probability")
    assert (found["n_turns"], found["n_scored"], found["reason"]) == (3, 2, "too long")
    _, lower, upper = clustered_mean([0.5, 0.1], ["x", "y"])
    assert lower is not None and upper is not None
    assert found["estimate"] == pytest.approx(0.3)
    assert (found["lower"], found["upper"]) == (max(0, lower), min(1, upper))


def test_scores_of_a_study_that_asked_for_no_ending_say_so() -> None:
    found = ending(scores(("own", "x", -9.0)))
    assert (found["estimate"], found["n_turns"], found["reason"]) == (None, 0, NO_ENDINGS)
