"""Items inside other texts, and parts of items, are found; texts of the same kind are not."""

import json
from collections.abc import Callable

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.tables.training_overlap import contained


def asked(path: str, column: str) -> list[str]:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [str(json.loads(line)[column]) for line in lines]


PROBLEMS = asked("data/demo/word_problems.jsonl", "question")
ABROAD = asked("data/demo/problems_by_language.jsonl", "question")


def half(text: str) -> str:
    words = text.split()
    return " ".join(words[: len(words) // 2])


FORMS: dict[str, Callable[[str], list[str]]] = {
    "itself": lambda text: [text],
    "inside a longer request": lambda text: [f"I am preparing a lesson. {text} Explain each step."],
    "its first half": lambda text: [half(text)],
    "as the goal of a talk about something vague": lambda text: ["Can you help?", "Yes.", text],
    "in capitals with other signs": lambda text: [text.upper().replace("?", " ...")],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_an_item_is_found(form: str) -> None:
    found = contained([[text] for text in PROBLEMS], [FORMS[form](text) for text in PROBLEMS])
    assert len(found) == len(PROBLEMS)


def test_other_problems_of_the_same_kind_are_not_found() -> None:
    evens, odds = PROBLEMS[::2], PROBLEMS[1::2]
    assert contained([[text] for text in evens], [[text] for text in odds]) == set()
    talk = asked("data/training/everyday_conversations.jsonl", "messages")
    assert contained([[text] for text in PROBLEMS], [talk]) == set()


def test_chinese_and_japanese_are_compared_by_characters() -> None:
    assert contained(
        [["\u4e00\u4e8c\u4e09\u56db\u4e94"]], [["\u56db\u4e00\u4e8c\u4e09\u56db\u4e94\u4e00"]]
    ) == {0}


def test_words_in_another_order_and_phrases_of_three_words_are_not_found() -> None:
    item = "one two three four five six seven"
    assert contained([[item]], [["seven six five four three two one"], ["one two three"]]) == set()
    assert contained([["one two three"]], [[item]]) == set()
