"""Hard failures are made of the prompt and answer as their names say."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from userturn.controls.control_turn import HARD, LABELS, NOT_GENUINE, PLANTED_HARD, SOURCES
from userturn.controls.failures import (
    Texts,
    as_question,
    halves,
    hard_failures,
    noisy,
    opening,
    parse_texts,
    reworded,
)
from userturn.judges.rubric import parse_rubric

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = parse_texts((ROOT / "data/controls/hard_failures.yaml").read_text())
TEXTS = Texts(
    ["The user asks: $prompt"],
    ["Sure!\n\n$answer"],
    ["I mean: $prompt"],
    {"why": "how"},
    ["velvet"],
)
PROMPT = "Why is the sky blue?"
ANSWER = "Air scatters light. Blue light is scattered most. So it comes from all sides."


def made(answer: str = ANSWER, other: str | None = None, prompt: str = PROMPT) -> dict[str, str]:
    found = hard_failures(prompt, answer, other, TEXTS, np.random.default_rng(1))
    return {name: planted.text for name, planted in found.items()}


def test_every_hard_failure_is_made_and_says_what_it_is() -> None:
    assert set(made(other="Because of Rayleigh.")) == set(HARD)
    assert {SOURCES[name] for name in HARD} == {PLANTED_HARD}
    labels = set(parse_rubric((ROOT / "data/rubric_2.yaml").read_text()).labels)
    assert set(LABELS.values()) <= labels | {NOT_GENUINE}


def test_failures_are_made_of_prompt_and_answer() -> None:
    found = {name: text for name, text in made().items() if not name.startswith("noise")}
    assert found == {
        "continuation": "So it comes from all sides.",
        "answer_as_question": "So air scatters light, and blue light is scattered most?",
        "thinking": "The user asks: Why is the sky blue?",
        "draft_reply": f"Sure!\n\n{ANSWER}",
        "paraphrased_prompt": "I mean: How is the sky blue?",
    }


def test_a_continuation_follows_the_first_half_of_the_answer() -> None:
    planted = hard_failures(PROMPT, ANSWER, None, TEXTS, np.random.default_rng(1))
    # 77 characters: the cuts are at 19 and 49, and the second is nearer 38.5.
    assert planted["continuation"].answer == "Air scatters light. Blue light is scattered most."
    assert {p.answer for name, p in planted.items() if name != "continuation"} == {ANSWER}


def test_an_answer_of_one_sentence_has_no_second_half() -> None:
    assert halves("Air scatters light.") is None
    assert halves("Air scatters light.\n\n***") is None
    assert "continuation" not in made("Air scatters light.")


def test_an_answer_without_words_has_no_failure() -> None:
    assert made("...") == {}


@pytest.mark.parametrize("other", [None, "", ANSWER])
def test_another_model_needs_another_answer(other: str | None) -> None:
    assert "other_model" not in made(other=other)


def test_a_conversation_in_another_language_gets_no_english_texts() -> None:
    german = "Der Himmel ist blau, weil die Luft das Licht streut. Das ist nicht schwer."
    found = made(german, prompt="Warum ist der Himmel blau?")
    assert set(found) == {"continuation", "answer_as_question"}


def test_a_question_keeps_capitals_that_are_no_beginning() -> None:
    assert as_question("NASA says so. I agree!") == "So NASA says so, and I agree?"
    assert as_question("It is") == "So it is?"


def test_longer_phrases_are_reworded_first_and_only_whole_words() -> None:
    words = {"how": "in what way", "how many": "what number of", "use": "employ"}
    assert reworded("How many reuse it? How use it?", words) == (
        "What number of reuse it? In what way employ it?"
    )


def test_an_opening_takes_sentences_until_there_are_forty_words() -> None:
    long = "word " * 39 + "end."
    assert opening(f"Short. {long} Never taken.") == f"Short. {long}"
    assert opening("word " * 200) == ("word " * 80).strip()


def test_each_step_of_noise_replaces_its_share_of_words_and_keeps_the_last_steps() -> None:
    text = "one two three, four five six seven eight."
    steps = list(noisy(text, ["velvet"], np.random.default_rng(3)).values())
    assert [step.count("velvet") for step in steps] == [2, 4, 6]
    for before, after in pairwise(steps):
        pairs = zip(before.split(), after.split(), strict=True)
        assert all("velvet" in new for old, new in pairs if "velvet" in old)
    assert all(step.count(",") == 1 and step.endswith(".") for step in steps)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_prompt_and_answer_make_texts_and_the_same_ones_again(prompt: str, answer: str) -> None:
    first, again = (
        hard_failures(prompt, answer, None, SHIPPED, np.random.default_rng(5)) for _ in range(2)
    )
    assert first == again
    assert all(planted.text and planted.answer for planted in first.values())


def test_the_shipped_rewordings_change_what_prompts_begin_with() -> None:
    assert reworded("How many apples does she buy?", SHIPPED.rewordings) == (
        "What number of apples does she purchase?"
    )
    assert all(word == word.lower() for word in SHIPPED.rewordings)
