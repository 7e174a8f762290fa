"""CSV files: nothing in them acts in a spreadsheet or a terminal, and every text comes back."""

import csv
import io

import polars as pl
import pytest

from userturn.storage.table_files import as_cell, as_written, csv_of


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
