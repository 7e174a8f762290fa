"""The table of judges has each number once, by the weights of drawn labels; flips are of turns."""

from typing import Any

import polars as pl
import pytest

from tests.support.annotation_rounds import LABELS
from tests.support.labelled_study import SIMULATED, tables_of
from userturn.humans.labels import PEOPLE
from userturn.judges.verdict import GENUINE
from userturn.storage.table_files import TURN_COLUMNS
from userturn.tables.agreement import agreement
from userturn.tables.confusion import confusion
from userturn.tables.judges import NONE_ACCEPTED, NONE_SCORED, SCHEMA, cards, flips, judges
from userturn.tables.known_turns import peoples_turns
from userturn.tables.pilot import _judge

LABELLED, JUDGED = tables_of(SIMULATED)
TABLE = judges(peoples_turns(LABELLED), agreement(LABELLED, JUDGED, LABELS, 1), 1)


def measured() -> dict[str, Any]:
    """Return the measures of the judge's card by people."""
    of_people = cards(TABLE).filter(source=PEOPLE)
    return {row["measure"]: row["estimate"] for row in of_people.to_dicts()}


def weighed() -> dict[tuple[bool, bool], float]:
    """Return the turns of the study by people's side and the judge's, by plain summing."""
    seen = LABELLED.filter(pl.col("share_genuine") != 0.5).to_dicts()
    sums = dict.fromkeys(((a, b) for a in (True, False) for b in (True, False)), 0.0)
    for row in seen:
        sums[row["share_genuine"] > 0.5, row["judge judge"] == GENUINE] += row["weight"]
    return sums


def test_the_card_by_people_counts_each_turn_for_those_that_it_represents() -> None:
    sums, card = weighed(), measured()
    (hit, missed), (wrong, right) = ([sums[a, True], sums[a, False]] for a in (True, False))
    total = hit + missed + wrong + right
    assert card["sensitivity"] == pytest.approx(hit / (hit + missed), abs=1e-12)
    assert card["specificity"] == pytest.approx(right / (wrong + right), abs=1e-12)
    observed = (hit + right) / total
    chance = (hit + missed) * (hit + wrong) + (wrong + right) * (missed + right)
    chance /= total**2
    assert card["right side"] == pytest.approx(observed, abs=1e-12)
    assert card["kappa"] == pytest.approx((observed - chance) / (1 - chance), abs=1e-12)


def test_the_kappa_of_the_card_is_the_coefficient_of_agreement_and_stands_once() -> None:
    of_people = {"part": "judge-human", "second": PEOPLE, "scale": "genuine", "weights": "study"}
    (row,) = TABLE.filter(measure="kappa", by="all", **of_people).to_dicts()
    assert row["estimate"] == measured()["kappa"]
    assert TABLE.filter(source=PEOPLE, measure="kappa").height == 1


def test_a_pilot_reads_the_numbers_of_the_card() -> None:
    found, card = _judge(TABLE), measured()
    for name in ("sensitivity", "specificity"):
        assert found[name].value == card[name]


def test_the_confusion_of_a_label_has_those_weights() -> None:
    table = confusion(LABELLED, JUDGED).filter(comparison="judge-human", first=PEOPLE)
    own = LABELLED.drop_nulls([PEOPLE, "judge judge"])
    for label in LABELS:
        both = own.filter((pl.col(PEOPLE) == label) & (pl.col("judge judge") == label))
        row = table.filter(label_first=label, label_second=label)
        assert row["weight"].sum() == pytest.approx(both["weight"].sum())


def test_its_columns_are_those_of_its_schema() -> None:
    assert dict(TABLE.schema) == dict(SCHEMA)


def verdicts(judge: str, *genuine: bool | None) -> pl.DataFrame:
    """Return a judge's verdicts on turns of items 0, 1, 2 ..."""
    place = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none", "sample": 0}
    rows = [
        place | {"item": str(item), "judge": judge, "genuine": said}
        for item, said in enumerate(genuine)
    ]
    schema = TURN_COLUMNS | {"judge": pl.String, "genuine": pl.Boolean}
    return pl.DataFrame(rows, schema=schema)


def test_of_the_turns_that_a_judge_accepted_the_share_that_it_no_longer_does_has_an_interval() -> (
    None
):
    own = verdicts("j", True, True, True, True, False, None, True)
    after = verdicts("j", False, False, False, True, False, False, None)
    (row,) = flips(own, after).to_dicts()
    assert (row["judge"], row["source"], row["measure"]) == ("j", "edited", "flips")
    assert (row["n_turns"], row["n_scored"], row["estimate"]) == (5, 4, 0.75)
    # Wilson at 3 of 4: (0.75 + 0.4802 -+ 1.96 sqrt(0.1875/4 + 0.0600)) / 1.9604 = 0.301, 0.954
    assert (round(row["lower"], 3), round(row["upper"], 3)) == (0.301, 0.954)


def test_a_judge_that_accepts_none_or_scores_none_again_has_the_reason() -> None:
    own = pl.concat([verdicts("none", False, None), verdicts("once", True, True)])
    after = pl.concat([verdicts("none", False, False), verdicts("once", None, None)])
    found = flips(own, after)
    assert found["estimate"].to_list() == [None, None]
    assert found["reason"].to_list() == [NONE_ACCEPTED, NONE_SCORED]
