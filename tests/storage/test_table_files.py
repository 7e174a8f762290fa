"""A table that comes in parts is the table that comes whole."""

import csv
import io
import os
import subprocess
from pathlib import Path

import polars as pl
import pytest

from userturn.errors import is_full_disk
from userturn.storage.table_files import PART, as_cell, as_written, csv_of, write_parts


def test_bytes_do_not_depend_on_where_the_parts_end(tmp_path: Path) -> None:
    n = PART + 10
    table = pl.DataFrame({"item": [f"i{i}" for i in range(n)], "said": [None, "x"] * (n // 2)})
    for name, size in (("whole", n), ("parts", 700)):
        write_parts(table.iter_slices(size), tmp_path / name, "identity")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert pl.read_parquet(tmp_path / "parts").equals(table)


def test_a_disk_that_fills_up_is_told_and_leaves_no_file(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", disk]).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        with pytest.raises(OSError) as told:
            write_parts([pl.DataFrame({"n": range(9000)})], disk / "table", "identity")
        assert is_full_disk(told.value)
        assert not list(disk.iterdir())
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|'/C calc'!A0",
        "+1",
        "-5+3",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "'=1",
        "''-1",
        "\uff1d1",
        "\uff0b1",
        "\uff0d1",
        "\uff20A1",
    ],
)
def test_text_that_a_spreadsheet_would_calculate_begins_with_an_apostrophe(text: str) -> None:
    assert as_cell(text) == f"'{text}"
    assert as_written(as_cell(text)) == text


@pytest.mark.parametrize("text", ["", "a=1", "'tis", "1-2", " =1", "é", "'"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert as_cell(text) == text
    assert as_written(text) == text


def test_numbers_stay_numbers_and_unseen_characters_are_shown() -> None:
    table = pl.DataFrame(
        {
            "difference": [-0.5, 1.0],
            "turn": ["-5+3", "a\x1b[31mb\u202e"],
            "kind": pl.Series(["+x", None], dtype=pl.Categorical),
        }
    )
    assert list(csv.reader(io.StringIO(csv_of(table)))) == [
        ["difference", "turn", "kind"],
        ["-0.5", "'-5+3", "'+x"],
        ["1.0", "a⟦U+001B⟧[31mb⟦U+202E⟧", ""],
    ]
