"""Parquet files, written whole, with their identity, and byte-equal for equal content."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from tabulate import tabulate

from userturn.storage.atomic_files import artifact, write_text, written_whole

SLICE = 2_000  # rows in memory at once of a table that may be long
PLAN_SLICE = 500  # rows in memory at once of a plan, whose prompts are long
PART = 5_000  # rows that are judged together and written as one row group

Schema = dict[str, pl.DataType | type[pl.DataType]]


def write_table(table: pl.DataFrame, path: str | Path, identity: str, **more: str) -> None:
    """Write a table as Parquet with its identity, and `more`, in its metadata."""
    with written_whole(path) as temporary:
        table.write_parquet(temporary, metadata=_metadata(identity) | more)


@contextmanager
def table_writer(
    schema: Schema, path: str | Path, identity: str, **more: str
) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Yield a function that adds rows to a table; its file appears when the block ends."""
    import pyarrow.parquet as pq  # half a second to import

    known = pl.DataFrame(schema=schema).to_arrow().schema
    noted = known.with_metadata(_metadata(identity) | more)
    with (
        written_whole(path) as temporary,
        pq.ParquetWriter(temporary, noted, compression="zstd") as writer,
    ):
        yield lambda rows: writer.write_table(rows.to_arrow().cast(noted))


def write_parts(parts: Iterable[pl.DataFrame], path: str | Path, identity: str) -> None:
    """Write a table given in parts as Parquet, with one part in memory at a time.

    Its bytes do not depend on how it is divided. There must be at least one part.
    """
    waiting = iter(parts)
    first = next(waiting)  # it may take long; a kill meanwhile leaves no folder
    with TemporaryDirectory() as scratch, written_whole(path) as temporary:
        paths = []
        for number, part in enumerate(chain([first], waiting)):
            paths.append(Path(scratch) / f"{number}.parquet")
            part.write_parquet(paths[-1])
        pl.scan_parquet(paths).sink_parquet(
            temporary,
            metadata=_metadata(identity),
            row_group_size=PART,
            maintain_order=True,
        )


LATEX = re.compile(r"[%&_#$]")  # characters that LaTeX takes for commands


def slices(table: pl.LazyFrame, n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield a table from its first row to its last, `n_rows` rows at a time."""
    for start in range(0, table.select(pl.len()).collect().item(), n_rows):
        yield table.slice(start, n_rows).collect()


def _metadata(identity: str) -> dict[str, str]:
    return {name: str(value) for name, value in artifact(identity).items()}


def read_tables(paths: Iterable[str], schema: Schema) -> pl.DataFrame:
    """Return the columns of a schema from several tables; an empty table if there are none."""
    tables = [pl.read_parquet(path, columns=list(schema)) for path in sorted(paths)]
    return pl.concat(tables) if tables else pl.DataFrame(schema=schema)


def write_csv(table: pl.DataFrame, path: str | Path) -> None:
    """Write a table as CSV, whole."""
    with written_whole(path) as temporary:
        table.write_csv(temporary)


def write_markdown(table: pl.DataFrame, path: str | Path, note: str | None = None) -> None:
    """Write a table of texts as a Markdown table, after a note if there is one, whole."""
    before = f"**{note}**\n\n" if note else ""
    write_text(before + _printed(table, "pipe"), path)


def write_latex(table: pl.DataFrame, path: str | Path, note: str | None = None) -> None:
    """Write a table of texts as a LaTeX tabular with booktabs rules, after its note, whole."""
    before = f"\\textbf{{{LATEX.sub(_escaped, note)}}}\\par\n" if note else ""
    write_text(before + _printed(table, "latex_booktabs"), path)


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def write_all(
    table: pl.DataFrame,
    paths: Sequence[str],
    identity: str,
    printed: Any = None,
    note: str | None = None,
) -> None:
    """Write a table in the format that each path's ending names.

    Parquet and CSV have the whole table; Markdown and LaTeX have the part that `printed` returns,
    after a note if there is one.
    """
    for path in map(str, paths):
        ending = path.rpartition(".")[2]
        if ending == "parquet":
            write_table(table, path, identity)
        elif ending == "csv":
            write_csv(table, path)
        else:
            {"md": write_markdown, "tex": write_latex}[ending](printed(table), path, note)


def _printed(table: pl.DataFrame, layout: str) -> str:
    return str(tabulate(table.rows(), table.columns, layout, disable_numparse=True)) + "\n"
