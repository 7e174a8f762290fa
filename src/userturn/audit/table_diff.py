"""Say how a table differs from its recomputation without showing any text of a dataset."""

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import polars as pl

SHOWN = (pl.Boolean, pl.Int64, pl.Int32, pl.Float64, pl.UInt32)  # columns that quote no dataset
Wrong = tuple[str, str]  # expected and found


def difference(made: pl.DataFrame, there: pl.DataFrame, keys: Sequence[str]) -> Wrong | None:
    """Return how a table differs from its recomputation, or None."""
    if made.schema != there.schema:
        return f"columns {', '.join(made.columns)}", f"columns {', '.join(there.columns)}"
    if made.equals(there):
        return None
    if made.height != there.height:
        twice = there.filter(there.select(keys).is_duplicated())
        more = f", {_place(twice, keys, 0)} twice" if twice.height else ""
        return f"{made.height} rows", f"{there.height} rows{more}"
    for name in made.columns:
        same = made[name].eq_missing(there[name])
        if not same.all():
            row = same.arg_min() or 0
            expected, found = (
                f" {table[name][row]}" if made.schema[name] in SHOWN else ""
                for table in (made, there)
            )
            where = f"{name} of {_place(there, keys, row)}"
            return f"{where}{expected or ', as made again'}", found.strip() or "another content"
    return "the same values", "others that print the same"


def _place(table: pl.DataFrame, keys: Sequence[str], row: int) -> str:
    return "/".join(str(value) for value in table.select(keys).row(row))


def first_other_line(made: Path, there: Path) -> Wrong:
    """Return the first line, by number, of a printed table that differs when made again."""
    lines = zip_longest(made.read_bytes().splitlines(), there.read_bytes().splitlines())
    n = next((n for n, (line, other) in enumerate(lines, 1) if line != other), 0)
    return f"line {n} as its Parquet file has it", "another line"
