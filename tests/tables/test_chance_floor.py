"""The table of chance floors: rate, floor and difference over the turns judged after both."""

from typing import Any

import polars as pl
import pytest

from tests.support.paired_counts import newcombe
from userturn.stats.proportions import wilson
from userturn.tables.chance_floor import NO_OTHER_ANSWER, NOT_SCORED, SCHEMA, chance_floor

CELL = {"model": "m", "temperature": 0.5, "perturbation": "none", "judge": "j"}


def judged_twice(dataset: str, *verdicts: tuple[bool | None, bool | None]) -> pl.DataFrame:
    rows = [
        {**CELL, "dataset": dataset, "item": str(i), "sample": 0, "genuine": a, "after_another": b}
        for i, (a, b) in enumerate(verdicts)
    ]
    kinds = {"sample": pl.Int32, "genuine": pl.Boolean, "after_another": pl.Boolean}
    return pl.DataFrame(rows, schema_overrides=kinds)


def cells(*datasets: str) -> pl.DataFrame:
    return pl.DataFrame([{**CELL, "dataset": dataset} for dataset in datasets])


def rows_of(turns: pl.DataFrame, *datasets: str) -> dict[str, dict[str, Any]]:
    table = chance_floor(turns, cells(*datasets))
    assert dict(table.schema) == dict(SCHEMA)
    return {row["dataset"]: row for row in table.to_dicts()}


BOTH = [(True, True)] * 3 + [(True, False)] * 9 + [(False, True)] * 2 + [(False, False)] * 26


def test_the_difference_is_newcombes_of_paired_shares_and_the_floor_has_wilsons_limits() -> None:
    row = rows_of(judged_twice("d", *BOTH), "d")["d"]
    assert (row["rate"], row["floor"]) == pytest.approx((12 / 40, 5 / 40))
    expected = newcombe(3, 2, 9, 26)
    found = row["difference"], row["lower"], row["upper"]
    assert found == pytest.approx(tuple(map(float, expected)))
    assert (row["floor_lower"], row["floor_upper"]) == pytest.approx(wilson(5, 40)[1:])
    assert (row["n_items"], row["n_turns"], row["n_scored"], row["reason"]) == (40, 40, 40, None)


def test_a_turn_without_one_of_the_two_verdicts_is_in_neither_share() -> None:
    row = rows_of(judged_twice("d", (True, None), (None, True), (True, False), (False, False)), "d")
    assert (row["d"]["n_turns"], row["d"]["n_scored"]) == (4, 2)
    assert (row["d"]["rate"], row["d"]["floor"]) == (0.5, 0)


def test_a_cell_without_a_pair_says_why() -> None:
    rows = rows_of(judged_twice("d", (True, None)), "d", "e")
    assert rows["d"]["reason"] == NOT_SCORED
    assert rows["e"]["reason"] == NO_OTHER_ANSWER
    assert rows["d"]["rate"] is rows["d"]["difference"] is rows["e"]["floor"] is None


def test_items_of_two_datasets_stay_apart_where_all_are_together() -> None:
    turns = pl.concat([judged_twice("d", *BOTH), judged_twice("e", *BOTH)])
    rows = rows_of(turns, "d", "e")
    assert list(rows) == ["all", "d", "e"]
    assert rows["all"]["n_items"] == 80
    assert rows["all"]["difference"] == pytest.approx(rows["d"]["difference"])
    width = {name: row["upper"] - row["lower"] for name, row in rows.items()}
    assert width["all"] < width["d"]


def test_five_equal_turns_of_an_item_are_worth_no_more_than_one() -> None:
    one = judged_twice("d", *BOTH)
    five = pl.concat([one.with_columns(sample=pl.lit(sample)) for sample in range(5)])
    few, many = (rows_of(turns, "d")["d"] for turns in (one, five))
    assert many["n_turns"] == 5 * few["n_turns"]
    for name in ("rate", "floor", "difference", "floor_lower", "floor_upper"):
        assert many[name] == pytest.approx(few[name])
    assert many["upper"] - many["lower"] == pytest.approx(few["upper"] - few["lower"], rel=0.05)


def test_the_difference_is_the_rate_less_the_floor_also_of_unequal_numbers_of_turns() -> None:
    again = judged_twice("d", *BOTH[:10]).with_columns(sample=pl.lit(1), genuine=pl.lit(False))
    row = rows_of(pl.concat([judged_twice("d", *BOTH), again]), "d")["d"]
    assert row["difference"] == pytest.approx(row["rate"] - row["floor"])
