"""How much an answer helped with each token: by hand, of a turn after its own and two others."""

from typing import Any

import polars as pl
import pytest

from userturn.generation.scorer import OTHER_ANSWER, OTHER_CONVERSATION, OWN
from userturn.generation.scores import SCORES_SCHEMA, token_gains, turn_gains


def row(item: str, context: str, logprobs: list[float], **more: Any) -> dict[str, Any]:
    named = {"model": "m", "dataset": "d", "item": item, "conversation": item, "context": context}
    total = sum(logprobs) if logprobs else None
    return {**named, "logprobs": logprobs, "logprob": total} | more


@pytest.fixture
def scores() -> pl.DataFrame:
    rows = [
        row("a", OWN, [-1.0, -2.0], token_texts=["Why", "?"]),
        row("a", OTHER_ANSWER, [-2.0, -1.0]),
        row("a", OTHER_ANSWER, [-6.0, -2.0]),
        row("a", OTHER_CONVERSATION, [-9.0, -9.0]),
        row("b", OWN, [], error="too long"),
        row("b", OTHER_ANSWER, [-2.0, -1.0]),
        row("c", OWN, [-1.0], token_texts=["So"]),
        row("c", OTHER_ANSWER, [], error="too long"),
    ]
    return pl.DataFrame(rows, schema=SCORES_SCHEMA)


def test_others_are_the_mean_over_other_answers_of_each_token(scores: pl.DataFrame) -> None:
    (turn,) = token_gains(scores).to_dicts()
    assert (turn["item"], turn["token_texts"], turn["own"]) == ("a", ["Why", "?"], [-1.0, -2.0])
    assert turn["others"] == [(-2 - 6) / 2, (-1 - 2) / 2]


def test_the_differences_add_up_to_the_gain_of_the_turn(scores: pl.DataFrame) -> None:
    (turn,) = token_gains(scores).to_dicts()
    (gain,) = turn_gains(scores).filter(pl.col("item") == "a")["gain_answer"]
    assert sum(turn["own"]) - sum(turn["others"]) == pytest.approx(gain)


def test_cells_of_one_item_are_kept_apart() -> None:
    cells = [{"temperature": t, "perturbation": "none", "sample": 0} for t in (0.0, 1.0)]
    rows = [
        row("a", context, [logprob - 5 * number], token_texts=["So"]) | cell
        for number, cell in enumerate(cells)
        for context, logprob in ((OWN, -1.0), (OTHER_ANSWER, -2.0))
    ]
    found = token_gains(pl.DataFrame(rows, schema=SCORES_SCHEMA))
    assert found["own"].to_list() == [[-1.0], [-6.0]]
    assert found["others"].to_list() == [[-2.0], [-7.0]]
