"""Gains of turns and tokens: by hand, after their own context and after others."""

from typing import Any

import polars as pl
import pytest

from userturn.generation.scorer import ASSISTANT_HEADER, OTHER_ANSWER, OTHER_CONVERSATION, OWN
from userturn.generation.scores import SCORES_SCHEMA, token_gains, turn_gains


def row(item: str, context: str, *logprobs: float, **more: Any) -> dict[str, Any]:
    named = {"model": "m", "dataset": "d", "item": item, "conversation": item, "context": context}
    texts = [f"{n}" for n in range(len(logprobs))]
    total = sum(logprobs) if logprobs else None
    return {**named, "logprobs": logprobs, "logprob": total, "token_texts": texts} | more


@pytest.fixture
def scores() -> pl.DataFrame:
    rows = [
        row("a", OWN, -6.0, -2.0),
        row("a", ASSISTANT_HEADER, -6.0, -3.0),
        row("a", OTHER_ANSWER, -7.0, -3.0),
        row("a", OTHER_ANSWER, -9.0, -5.0),
        row("a", OTHER_CONVERSATION, -4.0, -3.0),
        row("b", OWN, -6.0),
        row("b", OTHER_ANSWER, -6.0),
        row("b", OTHER_ANSWER, error="too long"),
        row("c", OWN, error="too long"),
        row("c", OTHER_ANSWER, -6.0),
        row("d", OWN, -1.0),
        row("d", OTHER_ANSWER, error="too long"),
    ]
    return pl.DataFrame(rows, schema=SCORES_SCHEMA)


def test_a_gain_is_the_own_score_less_the_mean_of_the_distractors(scores: pl.DataFrame) -> None:
    # a: -8 - (-10 - 14) / 2 = 4; after the other conversation -8 + 7 = -1; the role -8 + 9 = 1.
    gains = turn_gains(scores)
    assert gains["gain_answer"].to_list() == [4.0, 0.0, None, None]
    assert gains["gain_conversation"].to_list() == [-1.0, None, None, None]
    assert gains["gain_role"].to_list() == [1.0, None, None, None]
    assert gains["surprisal"].to_list() == [8.0, 6.0, None, 1.0]


def test_a_turn_is_identified_if_its_own_context_beats_every_other_and_a_tie_is_not(
    scores: pl.DataFrame,
) -> None:
    gains = turn_gains(scores)
    assert gains["identified_answer"].to_list() == [True, False, None, None]
    assert gains["identified_conversation"].to_list() == [False, None, None, None]


def test_what_has_no_score_says_why_and_does_not_count_as_a_distractor(
    scores: pl.DataFrame,
) -> None:
    gains = turn_gains(scores)
    assert gains["error"].to_list() == [None, None, "too long", None]
    assert gains["n_answers"].to_list() == [2, 1, 1, None]


def test_a_token_is_compared_with_its_mean_over_other_answers_where_both_are_scored(
    scores: pl.DataFrame,
) -> None:
    tokens, gains = token_gains(scores), turn_gains(scores)
    assert tokens["item"].to_list() == ["a", "b"]
    assert tokens["token_texts"].to_list() == [["0", "1"], ["0"]]
    assert tokens["own"].to_list() == [[-6.0, -2.0], [-6.0]]
    assert tokens["others"].to_list() == [[(-7 - 9) / 2, (-3 - 5) / 2], [-6.0]]
    summed = tokens["own"].list.sum() - tokens["others"].list.sum()
    assert summed.to_list() == pytest.approx(gains["gain_answer"][:2].to_list())


def test_cells_of_one_item_are_kept_apart() -> None:
    cells = [{"temperature": t, "perturbation": "none", "sample": 0} for t in (0.0, 1.0)]
    rows = [
        row("a", context, logprob - 5 * number) | cell
        for number, cell in enumerate(cells)
        for context, logprob in ((OWN, -1.0), (OTHER_ANSWER, -2.0))
    ]
    found = token_gains(pl.DataFrame(rows, schema=SCORES_SCHEMA))
    assert found["own"].to_list() == [[-1.0], [-6.0]]
    assert found["others"].to_list() == [[-2.0], [-7.0]]
