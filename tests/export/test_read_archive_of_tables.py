"""Tables that say a text often are counted before anything reads them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from userturn.errors import UserError
from userturn.export.read_archive import LONGEST, SMALL, check_tables

TEXT = "x" * 10_000
ENOUGH = SMALL // len(TEXT) + 1  # texts of this length


def often(text: str, n: int) -> pa.Array:
    """Return a column that has one text in each of its rows, once in the file."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([text]))


def in_lists(texts: pa.Array) -> pa.Array:
    """Return texts as conversations are stored: a list of objects in each row."""
    offsets = pa.array(range(len(texts) + 1), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([texts], ["content"]))


def write(column: pa.Array, folder: Path) -> None:
    pq.write_table(pa.table({"text": column}), folder / "turns.parquet", store_schema=False)


def test_a_study_whose_tables_hold_what_jobs_write_is_read(tmp_path: Path) -> None:
    write(often(TEXT, ENOUGH - 1), tmp_path)
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1")
    check_tables(tmp_path)


@pytest.mark.parametrize(
    "column",
    [
        often("x" * (LONGEST + 1), 1),
        often(TEXT, ENOUGH),
        in_lists(often(TEXT, ENOUGH)),
        pa.nulls(SMALL // 8 + 1, pa.bool_()),
    ],
    ids=["a text without end", "many texts", "many conversations", "many rows"],
)
def test_a_small_file_of_many_bytes_is_refused(column: pa.Array, tmp_path: Path) -> None:
    write(column, tmp_path)
    with pytest.raises(UserError, match=r"turns\.parquet' was not opened: with it the tables hold"):
        check_tables(tmp_path)
