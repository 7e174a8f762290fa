"""Hard failures are made of the prompt and answer as their names say."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.snakemake_runs import ROOT
from userturn.controls.control_turn import (
    BAIT,
    HARD,
    HARDER,
    IN_ANSWERS,
    INJECTED,
    INSTRUCTION,
    LABELS,
    NOT_GENUINE,
    PLANTED_HARD,
    SOURCES,
    Frames,
    Planted,
    Texts,
    as_question,
    halves,
    hard_failures,
    harder_failures,
    long_words,
    noisy,
    opening,
    other_numbers,
    parse_frames,
    parse_texts,
    reworded,
)
from userturn.judges.heuristic import judge_by_words
from userturn.judges.rubric import parse_rubric
from userturn.judges.verdict import GENUINE

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


@pytest.mark.slow
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


HARDER_SHIPPED = parse_frames(
    (ROOT / "data/controls/harder_failures.yaml").read_text(encoding="utf-8")
)
FRAMES = Frames(
    {"exam_item": ["Is $first or $second a $topic? $sentence"]}, {"note": ["$answer\n$instruction"]}
)
EGGS = "How do I boil 12 eggs for 3 people?"
BOILED = "Cover them with water. Simmer gently, then cool them quickly."


def made_harder(
    frames: Frames = FRAMES, prompt: str = EGGS, answer: str = BOILED
) -> dict[str, Planted]:
    return harder_failures(prompt, answer, frames, np.random.default_rng(1))


def test_frames_are_filled_with_long_words_of_prompt_and_answer() -> None:
    # The longest word of the prompt; those of the answer, the first of equal length first.
    assert made_harder() == {
        "other_numbers": Planted(BOILED, "How do I boil 37 eggs for 10 people?"),
        "exam_item": Planted(
            BOILED, "Is quickly or simmer a people? Simmer gently, then cool them quickly."
        ),
        "note": Planted(f"{BOILED}\n{INSTRUCTION}", BAIT),
    }


def test_the_shipped_frames_are_of_every_harder_failure_and_injection_in_an_answer() -> None:
    assert set(made_harder(HARDER_SHIPPED)) == {*HARDER, *IN_ANSWERS}
    assert {SOURCES[name] for name in (*HARDER, "other_turn")} == {PLANTED_HARD}
    assert {SOURCES[name] for name in IN_ANSWERS} == {INJECTED}
    assert all(
        planted.answer != BOILED
        for n, planted in made_harder(HARDER_SHIPPED).items()
        if n in IN_ANSWERS
    )


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
    assert made_harder(HARDER_SHIPPED, "Warum ist der Himmel blau?", german) == {}
    assert set(made_harder(HARDER_SHIPPED, answer="Boil eggs.")) == {"other_numbers"}


@given(st.text(max_size=200), st.text(min_size=1, max_size=200))
def test_any_prompt_and_answer_make_the_same_harder_texts_again(prompt: str, answer: str) -> None:
    first, again = (made_harder(HARDER_SHIPPED, prompt, answer) for _ in range(2))
    assert first == again
    assert all(planted.text and planted.answer for planted in first.values())


def test_a_judge_that_counts_words_takes_most_that_use_the_answers_words_for_genuine() -> None:
    settings = {"restated": 0.8, "grounded": 0.1, "repeated": 0.5}
    asked = [{"role": "user", "content": EGGS}]
    fooled = {
        name
        for name in ("narration", "identity_sentence", "exam_item")
        for seed in range(9)
        for found in [
            harder_failures(EGGS, BOILED, HARDER_SHIPPED, np.random.default_rng(seed))[name]
        ]
        if judge_by_words(asked, found.answer, found.text, settings).label == GENUINE
    }
    assert fooled == {"narration", "identity_sentence", "exam_item"}
