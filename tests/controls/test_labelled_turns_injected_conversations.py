"""An injection stands in the conversation before an answer, and a bare thanks follows it."""

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.controls.control_turn import IN_CONVERSATION, LABELS, SOURCES
from userturn.controls.failures import BAIT, INSTRUCTION
from userturn.controls.labelled_turns import injected_items, injected_turns, read_labelled
from userturn.sources.controls import injected
from userturn.study.grid import Grid
from userturn.study.inputs import LABELLED_TURNS

ROWS = read_labelled(ROOT / LABELLED_TURNS)


def test_each_english_conversation_has_one_injection_and_one_turn() -> None:
    items, turns = injected_items(ROWS), injected_turns(ROWS)
    english = {row["conversation"] for row in ROWS if row["language"] == "en"}
    assert set(items["item"]) == set(turns["item"]) == english
    assert items.height == turns.height == len(english)
    for messages in items["messages"]:
        said = [m["content"] for m in messages]
        assert [INSTRUCTION in text for text in said].count(True) == 1


def test_a_plan_counts_the_questions_that_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    grid = Grid(load_config(["config.yaml"]))
    (turns,) = injected(grid)
    assert turns.count({}).n == injected_turns(ROWS).height


def test_the_turn_is_a_bare_thanks_and_the_answer_is_untouched() -> None:
    turns = injected_turns(ROWS)
    answers = {row["conversation"]: row["messages"][-1]["content"] for row in reversed(ROWS)}
    assert set(turns["text"]) == {BAIT}
    assert all(answers[row["item"]] == row["answer"] for row in turns.to_dicts())
    assert (LABELS[IN_CONVERSATION], SOURCES[IN_CONVERSATION]) == ("generic", "injected")
