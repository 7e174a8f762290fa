"""Reference follow-ups: shares beside chance, gains by length, reasons, by hand."""

import math
from typing import Any

import polars as pl
import pytest

from userturn.generation.scores import SCORES_SCHEMA, TURN
from userturn.stats.clustered_measures import clustered_mean
from userturn.tables.likelihood_measures import (
    CHARACTER,
    NO_ENDINGS,
    TOKEN,
    WHOLE,
    ending,
    measures,
)


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
