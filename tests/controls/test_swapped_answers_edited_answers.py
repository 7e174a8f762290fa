"""Edited answers lack what a turn takes up from them, and nothing else is changed."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from userturn.controls.swapped_answers import (
    EDITED_TURNS_SCHEMA,
    NAMES,
    NOUNS,
    edited,
    edited_cells,
    taken_up,
)
from userturn.judges.heuristic import judge_by_words
from userturn.judges.verdict import GENUINE

PROMPT = "How do I keep rice from sticking?"
ANSWER = "Rinse it for 10 minutes. Toast it in oil, as Maria does. The oil seals it."


def test_what_a_turn_takes_up_is_in_the_answer_and_not_in_the_prompt() -> None:
    # rice is in the prompt, butter in neither; oils has the stem of oil.
    assert taken_up(PROMPT, ANSWER, "Which oils, or butter, for the rice?") == ["oil"]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (
            "Which oil?",
            "Rinse it for 10 minutes. Toast it in lantern, as Maria does. The lantern seals it.",
        ),
        (
            "Why 10?",  # and seven more
            "Rinse it for 17 minutes. Toast it in oil, as Maria does. The oil seals it.",
        ),
        (
            "Who is Maria?",
            "Rinse it for 10 minutes. Toast it in oil, as Tamsin does. The oil seals it.",
        ),
        (
            "And rinsing?",  # two words of a kind get two others; a capital stays
            "Tamsin it for 10 minutes. Toast it in oil, as Maria does. The oil seals it.",
        ),
        ("Is the rice white?", None),
    ],
)
def test_a_number_becomes_another_a_name_a_name_and_a_word_a_noun(
    turn: str, expected: str | None
) -> None:
    assert edited(PROMPT, ANSWER, turn) == expected


def test_what_takes_its_place_stands_in_none_of_the_three() -> None:
    prompt = f"Is a {NOUNS[0]} old?"
    found = edited(prompt, "It has oil.", f"And 10 of {NOUNS[1]}, or oil?")
    assert found == f"It has {NOUNS[2]}."


def test_an_answer_in_another_language_is_not_edited() -> None:
    answer = "Der Himmel ist blau, weil die Luft das Licht streut. Das ist nicht schwer."
    assert edited("Warum ist der Himmel blau?", answer, "Welches Licht?") is None


@given(st.text(max_size=60), st.text(max_size=120), st.text(max_size=60))
def test_a_turn_takes_nothing_up_from_an_edited_answer(prompt: str, answer: str, turn: str) -> None:
    found = edited(prompt, answer, turn)
    assert found is None or taken_up(prompt, found, turn) == []


def test_a_judge_that_counts_the_answers_words_flips() -> None:
    settings = {"restated": 0.8, "grounded": 0.1, "repeated": 0.5}
    asked, turn = [{"role": "user", "content": PROMPT}], "How long should I toast it in the oil?"
    assert judge_by_words(asked, ANSWER, turn, settings).label == GENUINE
    other = edited(PROMPT, ANSWER, turn)
    assert other is not None
    assert judge_by_words(asked, other, turn, settings).label != GENUINE


def cell(*rows: tuple[str, str | None, str]) -> pl.DataFrame:
    """Return user turns of a cell, from item, answer and text."""
    turns: list[dict[str, Any]] = [
        {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none", "sample": 0}
        | {"item": item, "answer": answer, "text": text, "outcome": "ok" if text else "empty"}
        for item, answer, text in rows
    ]
    return pl.DataFrame(turns, schema=EDITED_TURNS_SCHEMA)


def test_turns_that_take_something_up_are_drawn_and_fewer_are_part_of_more() -> None:
    items = pl.DataFrame(
        {"item": list("abcd"), "messages": [[{"role": "user", "content": PROMPT}]] * 4}
    )
    turns = cell(
        ("a", ANSWER, "Which oil?"), ("b", ANSWER, ""), ("c", ANSWER, "Thanks!"),
        ("d", ANSWER, "Who is Maria?"),
    )  # fmt: skip
    both = edited_cells("d", [turns], items, 9, 1)
    assert dict(both.select("item", "text").iter_rows()) == {
        "a": "Which oil?",
        "d": "Who is Maria?",
    }
    assert "Maria" not in both["answer"][1] and NAMES[0] in both["answer"][1]
    (one,) = edited_cells("d", [turns], items, 1, 1).rows()
    assert one in both.rows()
