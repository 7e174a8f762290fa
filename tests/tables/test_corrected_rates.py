"""Corrected rates: the truth is found where a judge of known errors misses it."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.annotation_rounds import LABELS, NO_KEY, annotated, key_of, study, together
from tests.support.labelled_study import NO_ANNOTATIONS, SIMULATED, simulated
from userturn.storage.table_files import JUDGED_CELL_KEYS, TURN_KEYS
from userturn.study.cells import ALL
from userturn.tables.corrected_rates import (
    Domains,
    add_corrected,
    corrected_change_columns,
    corrected_rate,
    corrected_rate_columns,
    domains,
)

POOL, CELL = pl.col("dataset") == ALL, pl.col("dataset") != ALL


def shown(found: Domains) -> pl.DataFrame:
    """Return the corrected rate of each cell and pool."""
    rows = [
        dict(zip(JUDGED_CELL_KEYS, place, strict=True)) | corrected_rate(domain)
        for place, domain in found.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def domains_of(found: dict[str, Any]) -> Domains:
    return domains(found["turns"], found["verdicts"], found["annotations"], found["key"])


def rates_of(found: dict[str, Any]) -> pl.DataFrame:
    return shown(domains_of(found))


def test_corrected_rates_hold_the_truth_where_the_plain_rate_misses_it() -> None:
    # 30% are genuine; a judge wrong in 40% calls 0.3 x 0.6 + 0.7 x 0.4 / 5 = 24% so.
    found = simulated(judge_rate=0.4, rates={"ann": 0.0})
    rows = rates_of(found).filter(POOL).to_dicts()
    for row in rows:
        of_model = found["turns"].filter(model=row["model"])["key"]
        real = np.mean([found["truth"][key] == LABELS[0] for key in of_model])
        by_judge = found["verdicts"].filter(model=row["model"])["genuine"].mean()
        assert row["corrected_lower"] <= real <= row["corrected_upper"]
        assert by_judge < real
        assert row["corrected_upper"] - row["corrected_lower"] < 0.2
    assert len(rows) == 3


def test_every_cell_and_model_has_a_rate_within_its_limits() -> None:
    table = rates_of(SIMULATED)
    assert (table.filter(CELL).height, table.filter(POOL).height) == (3, 3)
    assert (table["corrected_lower"] <= table["corrected"]).all()
    assert (table["corrected"] <= table["corrected_upper"]).all()
    assert table["corrected"].null_count() == 0


def contrast(factor: str, baseline: str, **condition: Any) -> dict[str, Any]:
    row = {"model": "a-1b", "dataset": "d", "temperature": 0.0, "perturbation": "none"}
    return row | {"judge": "judge", "factor": factor, "baseline": baseline} | condition


def test_contrast_is_the_difference_of_two_corrected_rates() -> None:
    labels = [LABELS[0], LABELS[3]] * 50
    found = fully_labelled(
        study(labels),
        study([LABELS[3]] * 100, perturbation="truncate"),
        study(labels, temperature=1.0),
        study([LABELS[0]] * 100, model="a-2b"),
        study([LABELS[3]] * 100, model="b-1b"),
    )
    rows = [
        contrast("perturbation", "none", perturbation="truncate"),
        contrast("temperature", "0.0", temperature=1.0),
        contrast("model", "a-1b", model="a-2b"),
        contrast("model", "a-1b", model="b-1b"),
    ]
    changes = [corrected_change_columns(found, row) for row in rows]
    assert [row["corrected"] for row in changes] == pytest.approx([-0.5, 0, 0.5, -0.5])
    assert all(row["corrected_lower"] < row["corrected"] for row in changes)


def of_dataset(cell: tuple[pl.DataFrame, pl.DataFrame], name: str) -> Any:
    """Return a cell of another dataset than `d`."""
    turns, verdicts = (table.with_columns(dataset=pl.lit(name)) for table in cell)
    return turns.with_columns(key=pl.format("{} {}", pl.lit(name), "key")), verdicts


def fully_labelled(*cells: tuple[pl.DataFrame, pl.DataFrame]) -> Domains:
    """Return cells and pools where people agree with the judge on every turn."""
    turns, verdicts = together(*cells)
    key = key_of(turns, verdicts, per_stratum=1000, genuine=1000)
    agreed = key.join(verdicts, on=TURN_KEYS, maintain_order="left")["label"].to_list()
    return domains(turns, verdicts, annotated(key, ann=agreed), key)


HALF, NONE = [LABELS[0], LABELS[3]] * 20, [LABELS[3]] * 20


def test_model_has_a_rate_at_each_temperature_and_under_each_perturbation() -> None:
    # Dataset d has 20 of 40 genuine turns, e none of 20: 20 / 60.
    found = fully_labelled(
        study(HALF),
        of_dataset(study(NONE), "e"),
        study(HALF, temperature=1.0),
        study(NONE, perturbation="truncate"),
    )
    rows = shown(found).filter(POOL)
    columns = ("temperature", "perturbation", "n_turns_drawn_from", "corrected")
    assert rows.select(columns).rows() == [
        (0.0, "none", 60, pytest.approx(1 / 3)),
        (0.0, "truncate", 20, 0),
        (1.0, "none", 40, 0.5),
    ]


def test_contrast_over_datasets_is_of_those_that_both_conditions_have() -> None:
    # Only dataset d was perturbed: 20 of its 40 turns were genuine, and none of 20 are then.
    found = fully_labelled(
        study(HALF), of_dataset(study(HALF), "e"), study(NONE, perturbation="truncate")
    )
    change = corrected_change_columns(
        found, contrast("perturbation", "none", perturbation="truncate", dataset=ALL)
    )
    assert (change["n_turns_drawn_from"], change["corrected"]) == (60, -0.5)
    assert change["corrected_lower"] < -0.5 < change["corrected_upper"]


def test_contrast_of_a_format_is_with_the_default_one() -> None:
    found = fully_labelled(study(HALF), study([LABELS[0]] * 20, perturbation="truncate"))
    named = {("a-1b+mono" if "truncate" in place else place[0], *place[1:3], "none", place[4]): part
             for place, part in found.items()}  # fmt: skip
    change = corrected_change_columns(named, contrast("format", "default", model="a-1b+mono"))
    assert change["corrected"] == 0.5


def test_contrast_without_a_labelled_baseline_says_so() -> None:
    found = fully_labelled(study(HALF), of_dataset(study(HALF, temperature=1.0), "e"))
    reasons = [
        corrected_change_columns(
            found, contrast("temperature", "0.5", temperature=1.0, dataset="e")
        ),
        corrected_change_columns(
            found, contrast("temperature", "0.0", temperature=1.0, dataset=ALL)
        ),
    ]
    assert [row["corrected_reason"] for row in reasons] == [
        "none of its turns was drawn; name a new round in humans.rounds",
        "turns were drawn from no dataset of both",
    ]


def test_rows_that_have_one_get_it_and_others_stay_as_they_are() -> None:
    table = pl.DataFrame([contrast("", "") | {"label": label} for label in ("x", "y")])
    is_x = pl.col("label") == "x"
    corrected = add_corrected(table, fully_labelled(study(HALF)), is_x, corrected_rate_columns)
    assert corrected["corrected"].to_list() == [0.5, None]
    nobody = add_corrected(table, None, is_x, corrected_rate_columns)
    assert nobody["corrected_reason"].to_list() == ["no annotations yet", None]
    assert nobody["corrected"].null_count() == 2


def test_cell_that_came_after_the_round_says_so_and_has_no_pool() -> None:
    grown = together(
        (SIMULATED["turns"], SIMULATED["verdicts"]), study([LABELS[0]] * 50, temperature=1.0)
    )
    found = domains_of(SIMULATED | {"turns": grown[0], "verdicts": grown[1]})
    new = {"model": "a-1b", "temperature": 1.0, "perturbation": "none", "judge": "judge"}
    for dataset in ("d", ALL):
        reason = corrected_rate_columns(found, new | {"dataset": dataset})["corrected_reason"]
        assert "was drawn; name a new round" in reason
    pools = shown(found).filter(POOL)
    assert pools["temperature"].unique().to_list() == [0.0]
    assert pools["n_turns_drawn_from"].sum() == 1200


def test_turns_that_a_changed_setting_replaced_count_no_more() -> None:
    changed = pl.when(pl.col("model") == "b-1b").then(pl.lit("new")).otherwise("key")
    table = rates_of(SIMULATED | {"turns": SIMULATED["turns"].with_columns(key=changed)})
    lost = table.filter(CELL, model="b-1b").row(0, named=True)
    assert (lost["n_labelled"], lost["corrected"]) == (0, None)


def test_no_round_at_all_is_no_crash() -> None:
    found = domains_of(SIMULATED | {"key": NO_KEY, "annotations": NO_ANNOTATIONS})
    assert all("corrected_reason" in corrected_rate(domain) for domain in found.values())
