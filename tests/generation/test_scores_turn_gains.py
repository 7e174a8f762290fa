"""Gains: by hand, from two turns of a human after their own context and after two others."""

from typing import Any

import polars as pl
import pytest

from userturn.generation.scorer import ASSISTANT_HEADER, OTHER_ANSWER, OTHER_CONVERSATION, OWN
from userturn.generation.scores import SCORES_SCHEMA, turn_gains


def row(item: str, context: str, logprob: float | None, **more: Any) -> dict[str, Any]:
    named = {"model": "m", "dataset": "d", "item": item, "conversation": item}
    return {
        **named,
        "n_tokens": 4,
        "n_characters": 20,
        "context": context,
        "logprob": logprob,
    } | more


@pytest.fixture
def gains() -> pl.DataFrame:
    rows = [
        row("a", OWN, -8.0),
        row("a", ASSISTANT_HEADER, -9.0),
        row("a", OTHER_ANSWER, -10.0),
        row("a", OTHER_ANSWER, -14.0),
        row("a", OTHER_CONVERSATION, -7.0),
        row("b", OWN, -6.0),
        row("b", OTHER_ANSWER, -6.0),
        row("b", OTHER_ANSWER, None, error="too long"),
        row("c", OWN, None, error="too long"),
        row("c", OTHER_ANSWER, -6.0),
    ]
    return turn_gains(pl.DataFrame(rows, schema=SCORES_SCHEMA))


def test_a_gain_is_the_own_score_less_the_mean_of_the_distractors(gains: pl.DataFrame) -> None:
    # a: -8 - (-10 - 14) / 2 = 4; after the other conversation -8 + 7 = -1; the role -8 + 9 = 1.
    assert gains["gain_answer"].to_list() == [4.0, 0.0, None]
    assert gains["gain_conversation"].to_list() == [-1.0, None, None]
    assert gains["gain_role"].to_list() == [1.0, None, None]
    assert gains["surprisal"].to_list() == [8.0, 6.0, None]


def test_a_turn_is_identified_if_its_own_context_beats_every_other_and_a_tie_is_not(
    gains: pl.DataFrame,
) -> None:
    assert gains["identified_answer"].to_list() == [True, False, None]
    assert gains["identified_conversation"].to_list() == [False, None, None]


def test_a_distractor_without_a_score_does_not_count(gains: pl.DataFrame) -> None:
    assert gains["n_answers"].to_list() == [2, 1, 1]


def test_what_could_not_be_scored_says_why(gains: pl.DataFrame) -> None:
    assert gains["error"].to_list() == [None, None, "too long"]
