"""Confusion: labels of one rater against labels of another."""

import polars as pl
import pytest

from tests.support.annotation_rounds import FAMILIES, LABELS, annotated, key_of, study
from tests.support.labelled_study import SIMULATED, simulated, tables_of
from userturn.figures.confusion import confusion_figure
from userturn.humans.labels import labelled_beside_judges
from userturn.tables.confusion import PAIRS, confusion, disagreements


def test_confusion_counts_add_up_and_rows_are_shares() -> None:
    table = confusion(*tables_of(SIMULATED)).filter(comparison="judge-human", first="ann")
    assert table["n"].sum() == SIMULATED["key"].height
    assert table.group_by("label_first").agg(pl.sum("share_of_first"))["share_of_first"].round(
        9
    ).to_list() == [1] * len(LABELS)


@pytest.mark.parametrize("rates", [{}, {"ann": 0.1}])
def test_confusion_is_drawn_with_and_without_annotations(rates: dict[str, float]) -> None:
    table = confusion(*tables_of(simulated(rates=rates))).with_columns(part=pl.lit(PAIRS))
    chart = confusion_figure(table, LABELS).to_json()
    assert ("no annotations yet" in chart) == (not rates)


def test_turns_that_people_and_judge_see_differently_are_listed_without_their_texts() -> None:
    turns, verdicts = study([LABELS[0], LABELS[3], LABELS[4]])
    key = key_of(turns, verdicts)
    by_item = dict(zip(key["item"], key["id"], strict=True))
    annotations = annotated(key, ann=[LABELS[3]] * 3, bob=[LABELS[3]] * 3)
    labelled, _ = labelled_beside_judges(turns, verdicts, annotations, key, FAMILIES)
    table = disagreements(labelled)
    assert table.select("id", "label_first", "label_second", "differ_in_genuine").rows() == [
        (by_item["i0000"], LABELS[3], LABELS[0], True),
        (by_item["i0002"], LABELS[3], LABELS[4], False),
    ]
    assert table["labels"][0] == "ann: generic; bob: generic"
    assert not {"text", "turn", "conversation", "rationale"} & set(table.columns)
