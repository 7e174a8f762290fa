"""Agreement: simulated people of known error rates are found again."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from tests.support.annotation_rounds import LABELS, NO_KEY
from tests.support.labelled_study import NO_ANNOTATIONS, SIMULATED, simulated, tables_of
from userturn.storage.table_files import TURN_KEYS
from userturn.tables.agreement import agreement

AGREEMENT = agreement(*tables_of(SIMULATED), LABELS, seed=1)


def measured(table: pl.DataFrame, **where: str) -> dict[str, Any]:
    (row,) = table.filter(pl.all_horizontal(pl.col(k) == v for k, v in where.items())).to_dicts()
    return dict(row)


def test_raw_agreement_of_two_people_is_what_their_errors_make() -> None:
    # Each is wrong in 10%, then with one of 5 labels: both right 0.81, both equally wrong 0.01 / 5.
    row = measured(
        AGREEMENT, part="human-human", first="ann", second="bob", scale="label",
        group="all", weights="study", measure="raw",
    )  # fmt: skip
    assert row["lower"] <= 0.812 <= row["upper"]
    assert row["upper"] - row["lower"] < 0.08


def test_agreement_of_judge_and_person_is_found_by_the_weights_not_by_the_sample() -> None:
    # The judge is right in 80%, Ann in 90%: 0.72 and 0.2 x 0.1 / 5. Genuine turns are rarer among
    # the drawn than in the study, and the judge's precision differs by label.
    row = measured(
        AGREEMENT, part="judge-human", first="judge", second="ann", scale="label",
        group="all", weights="study", measure="raw",
    )  # fmt: skip
    assert row["lower"] <= 0.724 <= row["upper"]


def test_weighted_agreement_is_that_of_the_whole_study() -> None:
    # A person without errors: weighted agreement is near that of judge and truth on all 1,200.
    found = simulated(share_genuine=0.6, rates={"ann": 0.0})
    judged = found["verdicts"].join(found["turns"].select(*TURN_KEYS, "key"), on=TURN_KEYS)
    right = judged["label"] == judged["key"].replace_strict(found["truth"])
    row = measured(
        agreement(*tables_of(found), LABELS, seed=1),
        part="judge-human", second="people", scale="label", group="all",
        weights="study", measure="raw",
    )  # fmt: skip
    assert row["estimate"] == pytest.approx(right.mean(), abs=0.03)


def test_kappa_of_the_sample_is_that_of_statsmodels() -> None:
    codes = SIMULATED["annotations"].pivot("annotator", index="id", values="genuine")
    table = np.zeros((2, 2))
    np.add.at(table, (codes["ann"].cast(pl.Int64), codes["bob"].cast(pl.Int64)), 1)
    row = measured(
        AGREEMENT, part="human-human", first="ann", second="bob", scale="genuine",
        group="all", weights="sample", measure="cohen_kappa",
    )  # fmt: skip
    assert row["estimate"] == pytest.approx(cohens_kappa(table, return_results=False))


def test_every_family_has_rows_of_its_own() -> None:
    assert set(AGREEMENT["group"].drop_nulls()) == {"all", "a", "b"}
    assert AGREEMENT.filter(group="b")["estimate"].null_count() == 0


def test_three_people_have_alpha_together_but_no_kappa() -> None:
    found = simulated(rates={"ann": 0.1, "bob": 0.1, "eve": 0.5})
    table = agreement(*tables_of(found), LABELS, seed=1)
    all_three = table.filter(first="people", group="all")
    assert set(all_three["measure"]) == {"raw", "krippendorff_alpha", "gwet_ac1"}


def test_judges_are_compared_on_all_turns() -> None:
    second = SIMULATED["verdicts"].with_columns(judge=pl.lit("other"))
    found = SIMULATED | {"verdicts": pl.concat([SIMULATED["verdicts"], second])}
    table = agreement(*tables_of(found | {"annotations": NO_ANNOTATIONS}), LABELS, seed=1)
    row = measured(table, part="judge-judge", scale="label", group="all", measure="cohen_kappa")
    assert (row["n_turns"], row["estimate"]) == (1200, 1)


@pytest.mark.parametrize(
    ("rates", "reason"),
    [({}, "no annotations yet"), ({"ann": 0.1}, "one annotator only, two are needed")],
)
def test_too_few_people_are_a_row_with_a_reason(rates: dict[str, float], reason: str) -> None:
    table = agreement(*tables_of(simulated(rates=rates)), LABELS, seed=1)
    row = table.filter(part="human-human").row(0, named=True)
    assert (row["estimate"], row["reason"]) == (None, reason)


def test_no_round_at_all_is_no_crash() -> None:
    found = SIMULATED | {"key": NO_KEY, "annotations": NO_ANNOTATIONS}
    assert agreement(*tables_of(found), LABELS, seed=1)["reason"].null_count() == 0
