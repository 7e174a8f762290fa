"""What stands in training data is found, and a dataset that stands there undeclared too."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.support.made_up_results import save
from tests.support.snakemake_runs import ROOT
from userturn.audit.check_settings import check_held_out
from userturn.tables.training_overlap import (
    Learnt,
    contained,
    count_overlap,
    grams,
    jaccard,
    texts_of,
)
from userturn.workflow.study_files import Files

LEARNT = Learnt(
    ["A farmer has 17 sheep and buys 5 more. How many sheep does he have now?", "thanks a lot"]
)


def item(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_jaccard_of_grams_is_what_both_have_of_what_either_has() -> None:
    # abcde bcdef cdefg, and bcdef cdefg defgh: 2 of 4
    assert jaccard(grams("abcdefg"), grams("bcdefgh")) == 0.5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A farmer has 17 sheep and buys 5 more. How many sheep does he have now?", "exact"),
        ("a farmer has 17 sheep, and buys 5 more: how many sheep does he have now", "exact"),
        ("A farmer has 18 sheep and buys 5 more. How many sheep does he have now?", "near"),
        ("A baker has 17 loaves and sells 5. How many does she have left?", None),
        ("Thanks a lot!", None),  # too short to mean anything
    ],
)
def test_message_matches_exactly_nearly_or_not(text: str, found: str | None) -> None:
    assert LEARNT.match(text) == found


def test_items_are_counted_once_and_without_the_studys_instruction() -> None:
    text = "A farmer has 17 sheep and buys 5 more. How many sheep does he have now?"
    rows = [item(f"{text}\n\nAnswer in one line."), item("What is it that you would like to eat?")]
    items = [texts_of({"messages": row}, "\n\nAnswer in one line.") for row in rows]
    counts = count_overlap(LEARNT, items, [[text]])
    assert counts == {"n_items": 2, "n_exact": 1, "n_near": 0, "n_contained": 0}


def test_a_goal_holds_an_item_and_a_reference_counts_as_a_text_of_it() -> None:
    text = "A baker has 17 loaves and sells 5. How many loaves does she have left?"
    goal = f"I need help with a problem for tomorrow. {text} Please explain every step."
    row = {"messages": item("x y z"), "reference_answer": "17 less 5 leaves her 12 loaves."}
    items = [texts_of({"messages": item(text)}), texts_of(row)]
    talk = [["Can you help?", "Yes.", goal], ["We see that 17 less 5 leaves her 12 loaves."]]
    counts = count_overlap(Learnt([]), items, talk)
    assert counts == {"n_items": 2, "n_exact": 0, "n_near": 0, "n_contained": 2}


def undeclared(results: Path, seen: bool, n_exact: int, n_near: int) -> list[str]:
    """Return what an audit finds of a dataset that occurs so often in training data."""
    row = {"model": "m", "dataset": "talk", "n_exact": n_exact, "n_near": n_near, "seen": seen}
    save(pl.DataFrame([row]), results / "tables/training_overlap.parquet")
    return [finding.found for finding in check_held_out(Files(results, {}))]


def test_items_in_training_data_of_an_undeclared_dataset_are_found(tmp_path: Path) -> None:
    assert undeclared(tmp_path, False, 2, 1) == ["2 items in the training data of m, 1 more nearly"]
    assert undeclared(tmp_path, True, 2, 1) == undeclared(tmp_path, False, 0, 0) == []


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
