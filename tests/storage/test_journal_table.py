"""A journal read as a table holds the records that stand when it is read line by line."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.test_journal import write
from tests.support.journal_lines import read_journal
from userturn.storage import journal
from userturn.storage.journal_table import OUTCOME_SCHEMA, finished_keys, read_outcomes

TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
RECORD = st.fixed_dictionaries(
    {
        "key": st.sampled_from("abc"),
        "item": st.text("xyz", max_size=2),
        "outcome": st.sampled_from(["ok", "empty", "error"]),
        "text": TEXT,
        "token_ids": st.none() | st.lists(st.integers(0, 2**31 - 1), max_size=3),
        "finish_reason": st.sampled_from([None, "stop"]),
        "error": TEXT,
    }
)


def record(key: str, outcome: str = "ok") -> dict[str, Any]:
    known = {"key": key, "item": "i", "sample": 0, "outcome": outcome, "text": f"said {key}"}
    return known | {"token_ids": [1, 2], "finish_reason": "stop", "error": None}


@given(st.lists(st.lists(RECORD, max_size=4), max_size=3))
def test_same_records_stand_whichever_way_a_journal_is_read(
    files: list[list[dict[str, Any]]],
) -> None:
    with TemporaryDirectory() as folder:
        for records in files:
            write(Path(folder), *records)
        by_line = read_journal(folder)
        by_table = read_outcomes(folder).rows_by_key("key", named=True, unique=True)
        some = read_outcomes(folder, pl.Series(["a", "c", "d", None]))
    names = [name for name in OUTCOME_SCHEMA if name != "key"]
    assert {key: {name: row[name] for name in names} for key, row in by_line.items()} == by_table
    assert {key: row for key, row in by_table.items() if key in "acd"} == some.rows_by_key(
        "key", named=True, unique=True
    )


def test_records_do_not_depend_on_how_much_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, *(record(key) for key in "abcde"))
    whole = read_outcomes(tmp_path)
    monkeypatch.setattr(journal, "BYTES", 1)  # a line at a time
    assert read_outcomes(tmp_path).equals(whole)


def test_torn_line_is_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, record("a"), record("b"))
    os.truncate(path, path.stat().st_size - 3)
    assert read_outcomes(tmp_path)["key"].to_list() == ["a"]


def test_only_the_keys_and_columns_that_are_wanted_are_kept(tmp_path: Path) -> None:
    write(tmp_path, record("a"), record("b"))
    found = read_outcomes(tmp_path, pl.Series(["b", "c", None]), ["key", "outcome"])
    assert found.rows(named=True) == [{"key": "b", "outcome": "ok"}]


def test_missing_journal_is_a_table_without_rows(tmp_path: Path) -> None:
    assert read_outcomes(tmp_path / "none").schema == OUTCOME_SCHEMA


def test_error_does_not_finish_a_key(tmp_path: Path) -> None:
    write(tmp_path, record("a"), record("b", "error"), record("c"))
    assert finished_keys(tmp_path, pl.Series(["a", "b", "d"])) == {"a"}
