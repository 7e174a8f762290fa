"""Read the rows of a dataset's file: JSON lines or list, CSV, tab-separated text, Parquet, Arrow.

Columns have the names that an entry gives. No form may have two columns of one name.
"""

import csv
import gzip
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from userturn.config.entries import saved_files
from userturn.errors import UserError, near_miss
from userturn.wording import kind_of

OF_FILES = ("language", "row")  # columns added to rows if each language has a file
OF_MODELS = ("system", "system_prompt", "tools", "functions")  # what an answer may depend on


def check_names(names: Iterable[str], where: str) -> None:
    """Raise UserError if two columns have one name, so that it would be ambiguous."""
    twice = [name for name, n in Counter(names).items() if n > 1 and name]
    if twice:
        raise UserError(
            f"{where}: has the column '{twice[0]}' more than once; rename or remove all but one"
        )


def no_column(name: str, names: Iterable[str], where: str) -> UserError:
    """Return the error of an entry that names a column which is not there."""
    return UserError(
        f"{where}: `fields` of the dataset's entry names '{name}', which is not a column"
        f"{near_miss(name, names)}"
    )


def column(row: Mapping[str, Any], name: str, where: str) -> Any:
    """Return a column's value, where a dot leads to a nested column or to a list's place from 0.

    Raises:
        UserError: there is no such column, and the message names the most similar one.
    """
    if name in row:
        return row[name]
    first, _, rest = name.partition(".")
    inner = row.get(first)
    if rest and isinstance(inner, Mapping):
        return column(inner, rest, where)
    if isinstance(inner, list) and rest.isdecimal():
        if int(rest) < len(inner):
            return inner[int(rest)]
        raise UserError(
            f"{where}: the column '{first}' is a list of {len(inner)}, which has no '{name}'; "
            "correct that row or `fields`"
        )
    raise no_column(name, row, where)


def named_columns(settings: Mapping[str, Any]) -> list[str]:
    """Return the columns of a file that an entry names, with dots as in the entry."""
    fields = dict(settings["fields"])
    named = set(fields.pop("arguments", {}).values())
    for value in fields.values():
        named |= {value} if isinstance(value, str) else {*value}
    return sorted(named)


def separator(head: str) -> str:
    """Return the separator of a head's columns, the most frequent of comma, semicolon and tab."""
    return max(",;\t", key=head.count)


def csv_rows(lines: Iterable[str], file: str) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield the rows of CSV text with a head, and their places, with None for an empty cell.

    Rows of empty cells, which spreadsheets leave, are passed over.

    Raises:
        UserError: two columns of one name, another number of cells, or quotes that do not end.
    """
    csv.field_size_limit(sys.maxsize)  # Python's own limit is 128 kB, less than a conversation
    texts = iter(lines)
    first = next((line for line in texts if line.strip()), "")
    reader = csv.reader(chain([first], texts), delimiter=separator(first), strict=True)
    number = 0
    try:
        head = [name.strip() for name in next(reader)]
        check_names(head, file)
        for number, cells in enumerate(reader, start=1):
            if any(cell.strip() for cell in cells):
                where = f"{file}, row {number}"
                yield where, dict(zip(head, _cells(cells, len(head), where), strict=True))
    except csv.Error as error:
        raise UserError(
            f"{file}, after row {number}: not CSV ({error}); save the file again, with quotes "
            "around cells that have separators, quotes or line ends"
        ) from error


def _cells(cells: list[str], n: int, where: str) -> list[str | None]:
    if len(cells) != n:
        raise UserError(
            f"{where}: found {len(cells)} cells, expected {n} as in the head; put quotes around a "
            "cell that has a separator, or remove that row"
        )
    return [cell or None for cell in cells]


PARQUET = b"PAR1"
BINARY = (PARQUET, b"ARROW1", b"\xff\xff\xff\xff")
GZIP = b"\x1f\x8b"
FOREIGN = {  # how files begin that have to be unpacked, exported or fetched first
    b"PK\x03\x04": "a zip archive or an Excel file",
    b"\xfd7zXZ": "packed by xz",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"BZh": "packed by bzip2",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
    b"\x93NUMPY": "an array of NumPy",
    b"\x80\x04": "a pickle of Python",
    b"\x80\x05": "a pickle of Python",
    b"<!DOCTYPE": "a page of the web",
    b"<!doctype": "a page of the web",
    b"<html": "a page of the web",
    b"version https://git-lfs": "a pointer of Git LFS, of which `git lfs pull` fetches the file",
}
TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")  # how the names of text with a head end

Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]  # with their places


def read_rows(
    path: Path, columns: Sequence[str] | None = None, named: Iterable[str] | None = None
) -> Rows:
    """Yield the rows of a file with their places, such as "file, line 3".

    The format is recognised by content, and only CSV by its name, `.csv` or `.tsv`. A file with
    given `columns` is tab-separated, without a head and without quoting. Text may be gzipped and is
    UTF-8, with or without a byte order mark, with any line endings. Empty lines are skipped.

    The path may be of a folder that `save_to_disk` of `datasets` wrote. If a format can be read by
    columns, only the named ones are read.

    Raises:
        UserError: a row cannot be read. The message names its place and never shows it.
    """
    if path.is_dir():
        return chain.from_iterable(read_rows(file, None, named) for file in saved_files(path))
    with path.open("rb") as file:
        head = file.read(24)
    for begin, what in FOREIGN.items():
        if head.startswith(begin):
            raise UserError(
                f"'{path}' is {what}, expected JSON lines, these packed by gzip, CSV named .csv, "
                "Parquet or Arrow; unpack, export or fetch it, and give that file"
            )
    if columns is not None:
        return _separated_rows(path, columns)
    if head.startswith(BINARY):
        from userturn.datasets.arrow_rows import arrow_rows

        return arrow_rows(path, named)
    return _text_rows(path, gzip.open if head.startswith(GZIP) else open)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def once(pairs: list[tuple[str, Any]]) -> Row:
    """Return the object of JSON's pairs, or raise a `ValueError` if a key is given twice."""
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


def _value(text: str, where: str, expected: str) -> Any:
    _check_utf8(text, where)
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        if isinstance(error, json.JSONDecodeError):
            reason = error.msg  # without the line's number in the line
        raise UserError(
            f"{where}: not JSON ({reason}), expected {expected}; correct it, download the file "
            "again, or give CSV a name that ends in .csv"
        ) from error


def _object(row: Any, where: str, expected: str) -> Row:
    if not isinstance(row, dict):
        raise UserError(
            f"{where}: found {kind_of(row)}, expected {expected}; correct it in the file"
        )
    return row


def _lines(path: Path, unpack: Any) -> Iterator[str]:
    n_read = 0
    try:
        with unpack(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            for line in file:
                yield line
                n_read += 1
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{path}, after line {n_read}: the gzipped file is cut short or damaged ({error}); "
            "fetch it again"
        ) from error


def _text_rows(path: Path, unpack: Any) -> Rows:
    """Yield the rows of a JSON list, CSV or JSON lines, recognised by the first character."""
    first = next((line.lstrip()[0] for line in _lines(path, unpack) if line.strip()), "")
    if first == "[":
        yield from _listed_rows(path, "".join(_lines(path, unpack)))
    elif first != "{" and path.name.lower().endswith(TABLES):
        for where, row in csv_rows(_lines(path, unpack), str(path)):
            _check_utf8("".join(filter(None, row.values())), where)
            yield where, row
    else:
        for number, line in enumerate(_lines(path, unpack), start=1):
            if line.strip():
                where, expected = f"{path}, line {number}", "one object in each line"
                yield where, _object(_value(line, where, expected), where, expected)


def _listed_rows(path: Path, text: str) -> Rows:
    expected = "one list of objects, or an object in each line"
    for number, row in enumerate(_value(text, str(path), expected), start=1):
        yield f"{path}, row {number}", _object(row, f"{path}, row {number}", expected)


def _separated_rows(path: Path, columns: Sequence[str]) -> Rows:
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
