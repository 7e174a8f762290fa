"""Disagreements: turns that people and judges label differently."""

import polars as pl

from tests.support.annotation_rounds import (
    FAMILIES,
    LABELS,
    annotated,
    key_of,
    study,
)
from userturn.humans.rater_pairs import labelled_beside_judges
from userturn.humans.rounds import ITEMS_SCHEMA
from userturn.tables.disagreements import disagreements


def test_turns_that_people_and_judge_see_differently_are_listed_for_reading() -> None:
    turns, verdicts = study([LABELS[0], LABELS[3], LABELS[4]])
    key = key_of(turns, verdicts)
    by_item = dict(zip(key["item"], key["id"], strict=True))
    annotations = annotated(key, ann=[LABELS[3]] * 3, bob=[LABELS[3]] * 3)
    labelled, _ = labelled_beside_judges(turns, verdicts, annotations, key, FAMILIES)
    items = pl.DataFrame(
        [
            {"id": i, "conversation": [{"role": "user", "text": "Why?"}], "turn": "Because."}
            for i in key["id"]
        ],
        schema=ITEMS_SCHEMA,
    )
    table = disagreements(labelled, verdicts, items, private=[])
    assert table.select("id", "judge_label", "differ_in_genuine").rows() == [
        (by_item["i0000"], LABELS[0], True),
        (by_item["i0002"], LABELS[4], False),
    ]
    assert table["conversation"][0] == "user: Why?"
    assert table["labels"][0] == "ann: generic; bob: generic"
    hidden = disagreements(labelled, verdicts, items, private=["d"])
    assert hidden.height == 2
    assert hidden.select("turn", "conversation", "rationale").null_count().row(0) == (2, 2, 2)
