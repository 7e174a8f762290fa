"""Read the rows of a dataset's file: JSON lines, Parquet, or tab-separated text."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.value_kinds import kind_of

PARQUET = b"PAR1"
GZIP = b"\x1f\x8b"
PACKED = {  # how files begin that have to be unpacked first
    b"PK\x03\x04": "a zip archive or an Excel file",
    b"\xfd7zXZ": "packed by xz",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"BZh": "packed by bzip2",
}
BATCH = 1000  # rows of a Parquet file in memory at once

Row = dict[str, Any]


def read_rows(path: Path, columns: Sequence[str] | None = None) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a JSON lines (also gzipped), Parquet or tab-separated file, with places.

    The place reads "file, line 3".

    The format is recognised by content, not by name, except that a file with given `columns` is
    tab-separated, without a head and without quoting. Text is UTF-8, with or without a byte
    order mark, with any line endings; empty lines are skipped.

    Raises:
        UserError: a row that cannot be read, named by its place and never shown.
    """
    with path.open("rb") as file:
        head = file.read(8)
    for begin, what in PACKED.items():
        if head.startswith(begin):
            raise UserError(
                f"'{path}' is {what}, expected JSON lines, these packed by gzip, or Parquet; "
                "unpack or export it, and give that file"
            )
    if columns is not None:
        return _separated_rows(path, columns)
    if head.startswith(PARQUET):
        return _parquet_rows(path)
    return _json_rows(path, gzip.open if head.startswith(GZIP) else open)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def once(pairs: list[tuple[str, Any]]) -> Row:
    """Return the object of JSON's pairs; one that has a key twice is refused by a `ValueError`."""
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key is given twice")
    return row


def _check_utf8(line: str, where: str) -> None:
    try:
        line.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{where}: found bytes that are not UTF-8; save the file as UTF-8"
        ) from error


def _parse(line: str, where: str) -> Row:
    _check_utf8(line, where)
    try:
        row = json.loads(line, parse_constant=_refuse_constant, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        if isinstance(error, json.JSONDecodeError):
            reason = error.msg  # without the line's number in the line
        raise UserError(
            f"{where}: not JSON ({reason}), expected one object in each line; correct that line, "
            "download the file again, or convert CSV or a list in brackets to JSON lines or Parquet"
        ) from error
    if not isinstance(row, dict):
        raise UserError(
            f"{where}: found {kind_of(row)}, expected one object in each line; correct "
            "that line, and write each row of a list on a line of its own"
        )
    return row


def _json_rows(path: Path, unpack: Any) -> Iterator[tuple[str, Row]]:
    number = 0
    try:
        with unpack(path, "rt", encoding="utf-8-sig", errors="surrogateescape") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    where = f"{path}, line {number}"
                    yield where, _parse(line, where)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{path}, after line {number}: the gzipped file is cut short or damaged ({error}); "
            "fetch it again"
        ) from error


def _separated_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Row]]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
        for number, line in enumerate(file, start=1):
            where, cells = f"{path}, line {number}", line.rstrip("\n").split("\t")
            if not line.strip():
                continue
            if len(cells) != len(columns):
                raise UserError(
                    f"{where}: found {len(cells)} columns between tabs, expected {len(columns)}; "
                    "correct that line, or `columns` in the dataset's entry"
                )
            _check_utf8(line, where)
            yield where, dict(zip(columns, cells, strict=True))


def _parquet_rows(path: Path) -> Iterator[tuple[str, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=BATCH):
            for row in batch.to_pylist():
                number += 1
                yield f"{path}, row {number}", row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}, after row {number}: the Parquet file is damaged ({type(error).__name__}); "
            "fetch it again"
        ) from error
