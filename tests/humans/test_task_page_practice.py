"""Practice turns: clear ones of every label, from the project's own set."""

import json
from pathlib import Path

from tests.support.annotation_rounds import LABELS
from tests.support.snakemake_runs import ROOT
from userturn.humans.task_page import practice_turns
from userturn.study.inputs import LABELLED_TURNS

ROWS = [json.loads(line) for line in (ROOT / LABELLED_TURNS).read_text().splitlines()]
KNOWN = {(row["messages"][-1]["content"], row["turn"]): row for row in ROWS}


def test_ten_turns_have_every_label_and_a_conversation_of_their_own() -> None:
    turns = practice_turns(ROOT / LABELLED_TURNS, LABELS)
    rows = [KNOWN[turn["conversation"][-1]["text"], turn["turn"]] for turn in turns]
    # ten turns of six labels: the first four labels have two each
    assert sorted(turn["label"] for turn in turns) == sorted([*LABELS, *LABELS[:4]])
    assert len({row["conversation"] for row in rows}) == 10
    assert all(row["first_label"] == row["second_label"] == row["third_label"] for row in rows)


def test_rubric_with_other_labels_has_no_practice(tmp_path: Path) -> None:
    assert practice_turns(ROOT / LABELLED_TURNS, ["good", "bad"]) == []
