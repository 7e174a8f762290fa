"""Every text in a file: lines of plain files, strings inside the columns of Parquet files."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from userturn.datasets.rows import GZIP, PARQUET

ROWS_IN_MEMORY = 50_000  # rows of a Parquet file in memory at once
BYTES = 16 * 1024 * 1024  # bytes of a plain file in memory at once


class Texts(NamedTuple):
    """Some texts from one place in a file.

    Attributes:
        place: what `numbers` count: `line`, or a column as `column answer, row`.
        numbers: number of each text, from 1.
        texts: the texts.
    """

    place: str
    numbers: pl.Series
    texts: pl.Series


def texts_of(path: Path) -> Iterator[Texts]:
    """Yield all texts of a file, a part at a time; bytes that are not UTF-8 are replaced.

    Raises:
        OSError, pa.ArrowException: the file cannot be read in the format of its first bytes.
    """
    with path.open("rb") as file:
        begins = file.read(len(PARQUET))
    if begins == PARQUET:
        yield from _of_parquet(path)
    elif begins.startswith(GZIP):
        try:
            with gzip.open(path) as unpacked:
                yield from _of_lines(cast(BinaryIO, unpacked))
        except (EOFError, zlib.error) as error:
            raise OSError(f"'{path}' is not a complete gzip file") from error
    else:
        with path.open("rb") as file:
            yield from _of_lines(file)


def _of_lines(file: BinaryIO) -> Iterator[Texts]:
    """Yield the lines of a file; one without end, as a small gzip file may have, in parts."""
    n_before = 0
    while part := file.read(BYTES):
        lines = (part + file.readline(BYTES)).removesuffix(b"\n").split(b"\n")
        texts = pl.Series([line.decode(errors="replace") for line in lines])
        yield Texts("line", _numbers(n_before, len(lines)), texts)
        n_before += len(lines)


def _of_parquet(path: Path) -> Iterator[Texts]:
    with pq.ParquetFile(path) as file:
        noted = file.schema_arrow.metadata or file.metadata.metadata or {}
        values = [value.decode(errors="replace") for value in noted.values()]
        texts = pl.Series(values, dtype=pl.String)
        yield Texts("metadata, entry", _numbers(0, len(values)), texts)
        n_before = 0
        columns = [field.name for field in file.schema_arrow if not _is_numbers(field.type)]
        for batch in file.iter_batches(ROWS_IN_MEMORY, columns=columns):
            numbers = _numbers(n_before, batch.num_rows)
            for column in pl.DataFrame(pa.Table.from_batches([batch])).iter_columns():
                yield from _strings(f"column {column.name}, row", numbers, column)
            n_before += batch.num_rows


def _is_numbers(kind: pa.DataType) -> bool:
    """Return whether a column has only numbers: token ids are most of a large study."""
    inner = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    return bool(pa.types.is_primitive(inner))


def _numbers(n_before: int, n: int) -> pl.Series:
    return pl.int_range(n_before + 1, n_before + n + 1, eager=True)


def _strings(place: str, numbers: pl.Series, values: pl.Series) -> Iterator[Texts]:
    """Yield the strings of a column, including those inside lists and structs."""
    kind = values.dtype
    if isinstance(kind, pl.List | pl.Array):
        inner = pl.DataFrame({"number": numbers, "value": values}).explode("value")
        yield from _strings(place, inner["number"], inner["value"])
    elif isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _strings(place, numbers, values.struct.field(field.name))
    elif isinstance(kind, pl.String | pl.Categorical | pl.Enum | pl.Binary):
        yield Texts(place, numbers, values.cast(pl.String, strict=False))
