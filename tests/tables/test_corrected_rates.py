"""Corrected rates: the truth is found where a judge of known errors misses it."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.annotation_rounds import (
    FAMILIES,
    LABELS,
    NO_KEY,
    annotated,
    key_of,
    study,
    together,
)
from tests.support.labelled_study import NO_ANNOTATIONS, SIMULATED, simulated
from userturn.storage.key_columns import TURN_KEYS
from userturn.tables.corrected_rates import corrected_rates
from userturn.tables.turn_clusters import rate_over


def rates_of(found: dict[str, Any]) -> pl.DataFrame:
    return corrected_rates(
        found["turns"], found["verdicts"], found["annotations"], found["key"], FAMILIES
    )


def test_corrected_rates_hold_the_truth_where_the_plain_rate_misses_it() -> None:
    # 30% are genuine; a judge wrong in 40% calls 0.3 x 0.6 + 0.7 x 0.4 / 5 = 24% so.
    found = simulated(judge_rate=0.4, rates={"ann": 0.0})
    for row in rates_of(found).filter(scope="model and temperature").iter_rows(named=True):
        of_model = found["turns"].filter(pl.col("model") == row["model"])["key"]
        real = np.mean([found["truth"][key] == LABELS[0] for key in of_model])
        assert row["lower"] <= real <= row["upper"]
        assert row["plain_estimate"] < real
        assert row["upper"] - row["lower"] < 0.2


def test_every_cell_pool_and_judge_has_a_row() -> None:
    table = rates_of(SIMULATED)
    counts = dict(table.group_by("scope").len().iter_rows())
    assert counts == {"cell": 3, "model and temperature": 3}
    assert table["estimate"].null_count() == 0
    assert (table["lower"] <= table["estimate"]).all()
    assert (table["estimate"] <= table["upper"]).all()


def test_contrast_is_the_difference_of_two_corrected_cells() -> None:
    labels = [LABELS[0], LABELS[3]] * 50
    plain, cut = study(labels), study([LABELS[3]] * 100, perturbation="truncate")
    warm = study(labels, temperature=1.0)
    turns, verdicts = together(plain, cut, warm)
    key = key_of(turns, verdicts, per_stratum=20, genuine=20)
    agreed = key.join(verdicts, on=TURN_KEYS, maintain_order="left")["label"].to_list()
    table = corrected_rates(turns, verdicts, annotated(key, ann=agreed), key, FAMILIES)
    contrasts = table.filter(pl.col("scope") == "contrast")
    assert contrasts.select("perturbation", "temperature", "against", "estimate").rows() == [
        ("truncate", 0.0, "perturbation none", -0.5),
        ("none", 1.0, "temperature 0", 0.0),
    ]
    assert (contrasts["lower"] < contrasts["estimate"]).all()


def of_dataset(cell: tuple[pl.DataFrame, pl.DataFrame], name: str) -> Any:
    """Return a cell of another dataset than `d`."""
    turns, verdicts = (table.with_columns(dataset=pl.lit(name)) for table in cell)
    return turns.with_columns(key=pl.format("{} {}", pl.lit(name), "key")), verdicts


def fully_labelled(*cells: tuple[pl.DataFrame, pl.DataFrame]) -> pl.DataFrame:
    """Return corrected rates where people agree with the judge on every turn."""
    turns, verdicts = together(*cells)
    key = key_of(turns, verdicts, per_stratum=1000, genuine=1000)
    agreed = key.join(verdicts, on=TURN_KEYS, maintain_order="left")["label"].to_list()
    return corrected_rates(turns, verdicts, annotated(key, ann=agreed), key, FAMILIES)


HALF, NONE = [LABELS[0], LABELS[3]] * 20, [LABELS[3]] * 20


def test_model_has_a_rate_at_each_temperature_and_under_each_perturbation() -> None:
    # Dataset d has 20 of 40 genuine turns, e none of 20: 20 / 60.
    table = fully_labelled(
        study(HALF),
        of_dataset(study(NONE), "e"),
        study(HALF, temperature=1.0),
        study(NONE, perturbation="truncate"),
    )
    rows = table.filter(pl.col("scope") == "model and temperature")
    assert rows.select("temperature", "perturbation", "n_turns", "estimate").rows() == [
        (0.0, "none", 60, pytest.approx(1 / 3)),
        (0.0, "truncate", 20, 0),
        (1.0, "none", 40, 0.5),
    ]
    assert rows["plain_estimate"].to_list() == pytest.approx([1 / 3, 0, 0.5])


def test_contrast_over_datasets_is_of_those_that_both_conditions_have() -> None:
    # Only dataset d was perturbed: 20 of its 40 turns were genuine, and none of 20 are then.
    table = fully_labelled(
        study(HALF), of_dataset(study(HALF), "e"), study(NONE, perturbation="truncate")
    )
    row = table.filter(pl.col("scope") == "contrast over datasets").row(0, named=True)
    assert (row["against"], row["n_turns"], row["estimate"]) == ("perturbation none", 60, -0.5)
    assert row["lower"] < -0.5 < row["upper"]


def test_plain_rate_of_a_cell_has_the_interval_of_the_table_of_rates() -> None:
    turns, verdicts = study(HALF)
    again = verdicts.with_columns(sample=pl.lit(1, dtype=pl.Int64))
    several = pl.concat([verdicts.with_columns(pl.col("sample").cast(pl.Int64)), again])
    more = turns.with_columns(sample=pl.lit(1, dtype=pl.Int64), key=pl.format("{} 1", "key"))
    both = pl.concat([turns.with_columns(pl.col("sample").cast(pl.Int64)), more])
    row = corrected_rates(both, several, NO_ANNOTATIONS, NO_KEY, FAMILIES).row(0, named=True)
    limits, _ = rate_over(several, ["item"])
    assert (row["plain_lower"], row["plain_upper"]) == (limits.lower, limits.upper)
    assert row["plain_upper"] - row["plain_lower"] > 0.29  # of 40 items, not of 80 turns


def test_no_annotations_are_a_reason_in_every_row() -> None:
    table = rates_of(simulated(rates={}))
    assert set(table["reason"]) == {"no annotations yet"}
    assert table["estimate"].null_count() == table.height
    assert table["plain_estimate"].null_count() == 0


def test_cell_that_came_after_the_round_says_so_and_has_no_pool() -> None:
    grown = together(
        (SIMULATED["turns"], SIMULATED["verdicts"]), study([LABELS[0]] * 50, temperature=1.0)
    )
    table = rates_of(SIMULATED | {"turns": grown[0], "verdicts": grown[1]})
    new = table.filter(pl.col("scope") == "cell", pl.col("temperature") == 1.0).row(0, named=True)
    assert "was drawn; name a new round" in new["reason"]
    pools = table.filter(scope="model and temperature")
    assert pools["temperature"].unique().to_list() == [0.0] and pools["n_turns"].sum() == 1200


def test_turns_that_a_changed_setting_replaced_count_no_more() -> None:
    changed = pl.when(pl.col("model") == "b-1b").then(pl.lit("new")).otherwise("key")
    found = SIMULATED | {"turns": SIMULATED["turns"].with_columns(key=changed)}
    table = rates_of(found)
    lost = table.filter(pl.col("scope") == "cell", pl.col("model") == "b-1b").row(0, named=True)
    assert (lost["n_labelled"], lost["estimate"]) == (0, None)


def test_no_round_at_all_is_no_crash() -> None:
    table = rates_of(SIMULATED | {"key": NO_KEY, "annotations": NO_ANNOTATIONS})
    assert table["estimate"].null_count() == table.height
