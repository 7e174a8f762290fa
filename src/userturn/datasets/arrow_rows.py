"""Read rows of Parquet and Arrow files, with only the wanted columns."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from userturn.datasets.rows import OF_FILES, OF_MODELS, PARQUET, Rows, check_names, no_column
from userturn.errors import UserError

FILE = b"ARROW1"  # how a file of Arrow begins; else it is a stream
BATCH = 1000  # rows in memory at once


def arrow_rows(path: Path, named: Iterable[str] | None) -> Rows:
    """Yield the rows of a Parquet or Arrow file with their places, with all or the named columns.

    Raises:
        UserError: the file is damaged, two columns have one name, a column is missing, or Python
            cannot hold a value.
    """
    number = 0
    try:
        for batch in _batches(path, named):
            for row in _values(batch, f"{path}, after row {number}"):
                number += 1
                yield f"{path}, row {number}", row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        kind = "Parquet" if _begins(path, PARQUET) else "Arrow"
        raise UserError(
            f"{path}, after row {number}: the {kind} file is damaged ({type(error).__name__}); "
            "fetch it again"
        ) from error


def _begins(path: Path, sign: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(sign)) == sign


def _batches(path: Path, named: Iterable[str] | None) -> Iterator[pa.RecordBatch]:
    if _begins(path, PARQUET):
        file = pq.ParquetFile(path)
        leaves = [file.schema.column(n).path for n in range(len(file.schema))]
        columns = _columns_to_read(file.schema_arrow, named, leaves, path)
        yield from file.iter_batches(batch_size=BATCH, columns=columns)
        return
    is_file = _begins(path, FILE)
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
        columns = _columns_to_read(reader.schema, named, [], path)
        whole = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        for batch in whole:
            batch.validate(full=True)  # a damaged offset would end the process
            chosen = batch if columns is None else batch.select(columns)
            yield from (chosen.slice(n, BATCH) for n in range(0, chosen.num_rows, BATCH))


def _columns_to_read(
    schema: pa.Schema, named: Iterable[str] | None, leaves: Sequence[str], path: Path
) -> list[str] | None:
    """Return the columns to read, None for all. A nested one of Parquet is read alone."""
    _check_schema(schema, str(path))
    if named is None:
        return None
    columns = set()
    for name in named:
        first = name.partition(".")[0]
        if name not in schema.names and first not in schema.names:
            if name in (*OF_FILES, *OF_MODELS):
                continue
            raise no_column(name, schema.names, str(path))
        is_leaf = name in schema.names or any(f"{leaf}.".startswith(f"{name}.") for leaf in leaves)
        columns.add(name if is_leaf else first)
    return sorted(columns)


def _check_schema(fields: Iterable[pa.Field], where: str) -> None:
    here = list(fields)
    check_names((field.name for field in here), where)
    for field in here:
        inner = field.type
        while pa.types.is_list(inner) or pa.types.is_large_list(inner):
            inner = inner.value_type
        if pa.types.is_struct(inner):
            _check_schema(inner, f"{where}, column '{field.name}'")


def _values(batch: pa.RecordBatch, where: str) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError):
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            _check_values(name, values, where)
        raise
    return rows


def _check_values(name: str, values: pa.Array, where: str) -> None:
    try:
        values.to_pylist()
    except UnicodeDecodeError:
        raise
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise UserError(
            f"{where}: the column '{name}' of the type {values.type} has a value that cannot be "
            f"read ({error}); correct it, or name another column in `fields`"
        ) from error
