"""Harder failures have a conversation's topic, numbers and words, and are no follow-up to it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from userturn.controls.control_turn import HARDER, IN_ANSWERS, INJECTED, PLANTED_HARD, SOURCES
from userturn.controls.failures import (
    BAIT,
    INSTRUCTION,
    Frames,
    Planted,
    harder_failures,
    long_words,
    other_numbers,
    parse_frames,
)
from userturn.judges.heuristic import judge_by_words
from userturn.judges.verdict import GENUINE

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = parse_frames((ROOT / "data/controls/harder_failures.yaml").read_text(encoding="utf-8"))
FRAMES = Frames(
    {"exam_item": ["Is $first or $second a $topic? $sentence"]}, {"note": ["$answer\n$instruction"]}
)
PROMPT = "How do I boil 12 eggs for 3 people?"
ANSWER = "Cover them with water. Simmer gently, then cool them quickly."


def made(frames: Frames = FRAMES, prompt: str = PROMPT, answer: str = ANSWER) -> dict[str, Planted]:
    return harder_failures(prompt, answer, frames, np.random.default_rng(1))


def test_frames_are_filled_with_long_words_of_prompt_and_answer() -> None:
    # The longest word of the prompt; those of the answer, the first of equal length first.
    assert made() == {
        "other_numbers": Planted(ANSWER, "How do I boil 37 eggs for 10 people?"),
        "exam_item": Planted(
            ANSWER, "Is quickly or simmer a people? Simmer gently, then cool them quickly."
        ),
        "note": Planted(f"{ANSWER}\n{INSTRUCTION}", BAIT),
    }


def test_the_shipped_frames_are_of_every_harder_failure_and_injection_in_an_answer() -> None:
    assert set(made(SHIPPED)) == {*HARDER, *IN_ANSWERS}
    assert {SOURCES[name] for name in (*HARDER, "other_turn")} == {PLANTED_HARD}
    assert {SOURCES[name] for name in IN_ANSWERS} == {INJECTED}
    assert all(planted.answer != ANSWER for n, planted in made(SHIPPED).items() if n in IN_ANSWERS)


@pytest.mark.parametrize(
    ("prompt", "changed"),
    [
        ("Add 2 and 40.", "Add 7 and 121."),
        ("No number here", None),
        ("It costs 2.50 or 1,000", None),  # no whole number of one group of digits
    ],
)
def test_whole_numbers_become_others(prompt: str, changed: str | None) -> None:
    assert other_numbers(prompt) == changed


def test_long_words_are_those_that_the_prompt_lacks_the_longest_first_and_once() -> None:
    assert long_words("Which water? Water boils, salt dissolves.", "boils") == [
        "dissolves",
        "water",
        "salt",
    ]


def test_a_conversation_in_another_language_or_without_two_new_words_gets_no_frame() -> None:
    german = "Der Himmel ist blau, weil die Luft das Licht streut. Das ist nicht schwer."
    assert made(SHIPPED, "Warum ist der Himmel blau?", german) == {}
    assert set(made(SHIPPED, answer="Boil eggs.")) == {"other_numbers"}


@given(st.text(max_size=200), st.text(min_size=1, max_size=200))
def test_any_prompt_and_answer_make_texts_and_the_same_ones_again(prompt: str, answer: str) -> None:
    first, again = (made(SHIPPED, prompt, answer) for _ in range(2))
    assert first == again
    assert all(planted.text and planted.answer for planted in first.values())


def test_a_judge_that_counts_words_takes_most_that_use_the_answers_words_for_genuine() -> None:
    settings = {"restated": 0.8, "grounded": 0.1, "repeated": 0.5}
    asked = [{"role": "user", "content": PROMPT}]
    fooled = {
        name
        for name in ("narration", "identity_sentence", "exam_item")
        for seed in range(9)
        for found in [harder_failures(PROMPT, ANSWER, SHIPPED, np.random.default_rng(seed))[name]]
        if judge_by_words(asked, found.answer, found.text, settings).label == GENUINE
    }
    assert fooled == {"narration", "identity_sentence", "exam_item"}
