"""How much the tables of a study hold: a small file may say a text as often as it likes."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import polars as pl
from polars.datatypes import DataTypeClass

from userturn.errors import UserError
from userturn.storage.files import paths_below
from userturn.workflow.study_files import FAULTS

MOST_COLUMNS = 1000
LONGEST = 10_000_000  # bytes of one text: twice a context of a million tokens
SMALL, MOST_PACKED = 1 << 30, 200  # bytes that any study may hold, else so often its files' size
NESTED = (pl.String, pl.Binary, pl.List, pl.Struct)


class Held(NamedTuple):
    """What a table holds: columns, bytes in memory, and bytes in its longest text."""

    n_columns: int
    n_bytes: int
    longest: int = 0


def check_tables(results: Path) -> None:
    """Check that the tables of a study hold as much as its jobs would write, before they are read.

    Raises:
        UserError: they hold far more, or a text that no model writes or reads.
    """
    files = [path for path in paths_below(results) if path.is_file()]
    n_bytes, most = 0, max(SMALL, MOST_PACKED * sum(path.stat().st_size for path in files))
    for path in sorted(path for path in files if path.suffix == ".parquet"):
        with suppress(*FAULTS):  # found damaged
            held = _held(path, most)
            n_bytes += held.n_bytes
            if held.n_columns > MOST_COLUMNS or held.longest > LONGEST or n_bytes > most:
                break
    else:
        return
    raise UserError(
        f"'{path.relative_to(results.parent)}' was not opened: with it the tables hold {n_bytes} "
        f"bytes, {held.longest} of them in one text, and it has {held.n_columns} columns; expected "
        f"at most {most}, {LONGEST} and {MOST_COLUMNS}: ask who made the study for what is in it"
    )


def _held(path: Path, most: int) -> Held:
    """Return what a table holds; of one with too many rows or columns nothing more is read."""
    table = pl.scan_parquet(path)
    schema = table.collect_schema()
    n_bytes_of_numbers = 8 * len(schema) * table.select(pl.len()).collect().item()
    if n_bytes_of_numbers > most or len(schema) > MOST_COLUMNS:
        return Held(len(schema), n_bytes_of_numbers)
    leaves = [leaf for name, kind in schema.items() for leaf in _leaves(pl.col(name), kind)]
    sums = [n.sum().alias(f"sum {i}") for i, (n, _) in enumerate(leaves)]
    longest = [n.max().alias(f"max {i}") for i, (n, is_text) in enumerate(leaves) if is_text]
    counted = table.select(*sums, pl.max_horizontal(0, *longest).alias("longest")).collect()
    *n_bytes, most_in_one = counted.row(0)
    return Held(len(schema), sum(n_bytes), most_in_one)


def _leaves(column: pl.Expr, kind: pl.DataType | DataTypeClass) -> Iterator[tuple[pl.Expr, bool]]:
    """Yield the number of bytes of each value in a column, or of each list in it."""
    if isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _leaves(column.struct.field(field.name), field.dtype)
    elif isinstance(kind, pl.List) and isinstance(kind.inner, NESTED):
        yield from _leaves(column.explode(), kind.inner)
    elif isinstance(kind, pl.List):
        yield column.list.len().cast(pl.Int64) * 8, False
    elif isinstance(kind, pl.Array):
        yield from _leaves(column.arr.to_list(), pl.List(kind.inner))
    elif isinstance(kind, pl.String | pl.Binary | pl.Categorical | pl.Enum):
        yield column.cast(pl.Binary).bin.size().cast(pl.Int64), True
