"""The table of chance floors: rate, floor and difference over the turns judged after both."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.paired_counts import newcombe
from userturn.stats.margins import share_that_reacts, side_by_side
from userturn.stats.proportions import Interval, wilson
from userturn.tables.chance_floor import NO_OTHER_ANSWER, NOBODY, NOT_ABOVE, SCHEMA, chance_floor

CELL = {"model": "m", "temperature": 0.5, "perturbation": "none", "judge": "j"}


def judged_twice(dataset: str, *verdicts: tuple[bool | None, bool | None]) -> pl.DataFrame:
    rows = [
        {**CELL, "dataset": dataset, "item": str(i), "sample": 0, "genuine": a, "after_another": b}
        for i, (a, b) in enumerate(verdicts)
    ]
    kinds = {"sample": pl.Int32, "genuine": pl.Boolean, "after_another": pl.Boolean}
    return pl.DataFrame(rows, schema_overrides=kinds)


def rows_of(turns: pl.DataFrame, sensitivity: Interval | None = None) -> dict[str, dict[str, Any]]:
    """Return the table of turns that were judged twice, and of those without a second answer."""
    swapped = turns.filter(pl.col("again")) if "again" in turns.columns else turns
    of_judge = {"j": sensitivity} if sensitivity else {}
    table = chance_floor(turns.drop("after_another"), swapped.drop("genuine"), of_judge)
    assert dict(table.schema) == dict(SCHEMA)
    return {row["dataset"]: row for row in table.to_dicts()}


BOTH = [(True, True)] * 3 + [(True, False)] * 9 + [(False, True)] * 2 + [(False, False)] * 26


def test_the_difference_is_newcombes_of_paired_shares_and_the_floor_has_wilsons_limits() -> None:
    row = rows_of(judged_twice("d", *BOTH))["d"]
    assert row["floor"] == pytest.approx(5 / 40)
    expected = newcombe(3, 2, 9, 26)
    found = row["above_floor"], row["above_floor_lower"], row["above_floor_upper"]
    assert found == pytest.approx(tuple(map(float, expected)))
    assert (row["floor_lower"], row["floor_upper"]) == pytest.approx(wilson(5, 40)[1:])
    assert (row["n_judged_again"], row["n_scored_again"], row["floor_reason"]) == (40, 40, None)


def test_each_share_is_over_the_turns_that_have_its_verdict() -> None:
    row = rows_of(judged_twice("d", (True, None), (None, True), (True, False), (False, False)))
    assert (row["d"]["n_judged_again"], row["d"]["n_scored_again"]) == (4, 3)
    # After their own answers 2 of 3 are genuine, after others 1 of 3.
    assert (row["d"]["floor"], row["d"]["above_floor"]) == pytest.approx((1 / 3, 1 / 3))


def test_a_cell_without_a_floor_says_why() -> None:
    once = judged_twice("e", (True, None)).with_columns(again=pl.lit(False))
    twice = judged_twice("d", (True, None)).with_columns(again=pl.lit(True))
    rows = rows_of(pl.concat([twice, once]))
    assert rows["e"]["floor_reason"] == NO_OTHER_ANSWER
    assert rows["d"]["above_floor"] is rows["e"]["floor"] is rows["all"]["floor"] is None


def test_the_floor_over_datasets_weighs_each_by_its_scored_turns() -> None:
    # Of d's 30 turns 10 are judged again, half are genuine then; of e's 10 all, none is.
    d = judged_twice("d", *[(True, i % 2 == 0) for i in range(30)])
    d = d.with_columns(again=pl.int_range(30) < 10)
    e = judged_twice("e", *[(False, False)] * 10).with_columns(again=pl.lit(True))
    row = rows_of(pl.concat([d, e]))["all"]
    assert (row["floor"], row["above_floor"]) == pytest.approx((15 / 40, 15 / 40))
    assert (row["n_judged_again"], row["n_scored_again"]) == (20, 20)
    # Ten turns that stand for thirty are worth ten: half of them have Wilson's limits of 5 of 10.
    few = rows_of(d)["d"]
    assert (few["floor_lower"], few["floor_upper"]) == pytest.approx(wilson(5, 10)[1:], abs=0.02)


def test_items_of_two_datasets_stay_apart_where_all_are_together() -> None:
    turns = pl.concat([judged_twice("d", *BOTH), judged_twice("e", *BOTH)])
    rows = rows_of(turns)
    assert list(rows) == ["all", "d", "e"]
    assert rows["all"]["n_judged_again"] == 80
    assert rows["all"]["above_floor"] == pytest.approx(rows["d"]["above_floor"])
    width = {
        name: row["above_floor_upper"] - row["above_floor_lower"] for name, row in rows.items()
    }
    assert width["all"] < width["d"]


def test_five_equal_turns_of_an_item_are_worth_no_more_than_one() -> None:
    one = judged_twice("d", *BOTH)
    five = pl.concat([one.with_columns(sample=pl.lit(sample)) for sample in range(5)])
    few, many = (rows_of(turns)["d"] for turns in (one, five))
    assert many["n_judged_again"] == 5 * few["n_judged_again"]
    for name in ("floor", "above_floor", "floor_lower", "floor_upper"):
        assert many[name] == pytest.approx(few[name])
    widths = [row["above_floor_upper"] - row["above_floor_lower"] for row in (many, few)]
    assert widths[0] == pytest.approx(widths[1], rel=0.05)


def test_the_difference_is_the_rate_less_the_floor_also_of_unequal_numbers_of_turns() -> None:
    again = judged_twice("d", *BOTH[:10]).with_columns(sample=pl.lit(1), genuine=pl.lit(False))
    row = rows_of(pl.concat([judged_twice("d", *BOTH), again]))["d"]
    assert row["above_floor"] == pytest.approx(12 / 50 - row["floor"])


def test_the_share_that_reacts_is_what_is_above_the_floor_over_what_the_judge_adds_to_it() -> None:
    # (12 - 5) / 40 over .65 - 5 / 40: a third. At 1 in 8 the judge adds nothing to its floor.
    row = rows_of(judged_twice("d", *BOTH), wilson(65, 100))["d"]
    assert row["reacts"] == pytest.approx(7 / 40 / (0.65 - 5 / 40))
    assert row["reacts_lower"] < row["above_floor"] < row["reacts"] < row["reacts_upper"] < 1
    useless = rows_of(judged_twice("d", *BOTH), wilson(10, 80))["d"]
    assert (useless["reacts"], useless["reacts_reason"]) == (None, NOT_ABOVE)
    assert rows_of(judged_twice("d", *BOTH))["d"]["reacts_reason"] == NOBODY


@pytest.mark.parametrize("twice", [[(False, True)] * 9, [(True, False)] * 9, [(False, False)] * 9])
def test_the_share_that_reacts_and_its_limits_are_shares(twice: list[tuple[bool, bool]]) -> None:
    row = rows_of(judged_twice("d", *twice, (False, False)), wilson(95, 100))["d"]
    assert 0 <= row["reacts_lower"] <= row["reacts"] <= row["reacts_upper"] <= 1


@pytest.mark.parametrize(("reacting", "s", "floor"), [(0.05, 0.76, 0.2), (0.3, 0.6, 0.05)])
def test_limits_of_the_share_that_reacts_hold_it(reacting: float, s: float, floor: float) -> None:
    rng, held = np.random.default_rng(3), 0
    for _ in range(400):
        reacts = rng.random(200) < reacting
        own = rng.random(200) < np.where(reacts, s, floor)
        again = rng.random(200) < floor
        found = share_that_reacts(
            side_by_side((np.ones(200), again), (np.ones(200), own)),
            wilson(rng.binomial(80, s), 80),
        )
        held += (found.lower or 0) <= reacting <= (found.upper or 0)
    assert held / 400 >= 0.93
