"""Rates over different texts: each text of a cell counts once, limits stay by item."""

from typing import Any

import polars as pl
import pytest

from userturn.stats.proportions import wilson
from userturn.tables.repeated_texts import SCHEMA, distinct_rates, number_texts

CELL = {"model": "m", "temperature": 0.0, "perturbation": "none"}


def rows_of(*turns: tuple[str, str, str | None, bool | None]) -> dict[str, dict[str, Any]]:
    """Return the table of turns: dataset, item, text and verdict; each is one more sample."""
    rows = [
        {**CELL, "dataset": d, "item": item, "sample": i, "text": text, "genuine": genuine}
        | {"outcome": "ok" if text else "empty", "judge": "j"}
        for i, (d, item, text, genuine) in enumerate(turns)
    ]
    table = pl.DataFrame(rows, schema_overrides={"genuine": pl.Boolean, "text": pl.String})
    cells = table.partition_by("dataset", maintain_order=True)
    said = pl.concat([number_texts(cell.drop("judge", "genuine")) for cell in cells])
    keys = [*CELL, "dataset", "item", "sample"]
    found = distinct_rates([table.select(*keys, "judge", "genuine").join(said, on=keys)])
    assert dict(found.schema) == dict(SCHEMA)
    return {row["dataset"]: row for row in found.to_dicts()}


COLLAPSED = [("d", str(i), "And then?", i < 8) for i in range(9)]
OTHERS = [("d", "a", "Why so?", False), ("d", "b", "For how long?", False), ("d", "c", "", False)]


def test_a_text_of_many_items_counts_once() -> None:
    # Of nine turns "And then?" eight are genuine; four texts, of which none is another time: the
    # rate of 8 / 12 is 8 / 9 of one text in four.
    row = rows_of(*COLLAPSED, *OTHERS)["d"]
    assert (row["n_copies"], row["n_distinct"]) == (9, 4)
    assert row["distinct"] == pytest.approx(8 / 9 / 4)
    assert row["distinct_upper"] - row["distinct_lower"] > 0.5  # four texts say little


def test_without_copies_the_rate_and_its_limits_are_the_rates_own() -> None:
    turns = [("d", str(i), f"What about {i}?", i % 3 == 0) for i in range(30)]
    row = rows_of(*turns)["d"]
    assert (row["n_copies"], row["n_distinct"]) == (0, 30)
    limits = row["distinct"], row["distinct_lower"], row["distinct_upper"]
    assert limits == pytest.approx(wilson(10, 30))


def test_unscored_turns_are_no_part_of_the_rate() -> None:
    row = rows_of(("d", "a", "So?", None), ("d", "b", "So?", True), ("d", "c", "Why?", None))["d"]
    assert (row["n_copies"], row["n_distinct"], row["distinct"]) == (2, 1, 1)
    nothing = rows_of(("d", "a", "So?", None))["d"]
    assert (nothing["n_distinct"], nothing["distinct"], nothing["distinct_lower"]) == (
        0,
        None,
        None,
    )


def test_over_datasets_texts_of_each_cell_are_put_together() -> None:
    rows = rows_of(*COLLAPSED, ("e", "0", "And then?", False), ("e", "1", "No?", True))
    assert (rows["e"]["n_copies"], rows["all"]["n_copies"]) == (0, 9)
    # One text in d, 8 / 9 of it, and two in e, of which one is.
    assert rows["all"]["n_distinct"] == 3
    assert rows["all"]["distinct"] == pytest.approx((8 / 9 + 1) / 3)
