"""Confusion: labels of one rater against labels of another."""

import polars as pl
import pytest

from tests.support.annotation_rounds import (
    LABELS,
)
from tests.support.labelled_study import SIMULATED, simulated, tables_of
from userturn.figures.confusion import confusion_figure
from userturn.tables.confusion import confusion


def test_confusion_counts_add_up_and_rows_are_shares() -> None:
    table = confusion(*tables_of(SIMULATED)).filter(
        pl.col("comparison") == "judge-human", pl.col("first") == "ann"
    )
    assert table["n"].sum() == SIMULATED["key"].height
    assert table.group_by("label_first").agg(pl.sum("share_of_first"))["share_of_first"].round(
        9
    ).to_list() == [1] * len(LABELS)


@pytest.mark.parametrize("rates", [{}, {"ann": 0.1}])
def test_confusion_is_drawn_with_and_without_annotations(rates: dict[str, float]) -> None:
    chart = confusion_figure(confusion(*tables_of(simulated(rates=rates))), LABELS).to_json()
    assert ("no annotations yet" in chart) == (not rates)
