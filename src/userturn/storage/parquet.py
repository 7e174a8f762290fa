"""Parquet files that are written whole, byte-equal for equal content, and know their identity."""

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
PART = 5_000  # rows that are judged together, and that stand together in a file

Schema = dict[str, pl.DataType | type[pl.DataType]]


def write_table(table: pl.DataFrame, path: str | Path, identity: str, **more: str) -> None:
    """Write a table as Parquet with its identity, and what more is given, in its metadata."""
    with written_whole(path) as temporary:
        table.write_parquet(temporary, metadata=_metadata(identity) | more)


@contextmanager
def table_writer(
    schema: Schema, path: str | Path, identity: str, **more: str
) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Yield a function that adds rows to a table, which is there when the block ends."""
    import pyarrow.parquet as pq  # half a second to import

    known = pl.DataFrame(schema=schema).to_arrow().schema
    noted = known.with_metadata(_metadata(identity) | more)
    with (
        written_whole(path) as temporary,
        pq.ParquetWriter(temporary, noted, compression="zstd") as writer,
    ):
        yield lambda rows: writer.write_table(rows.to_arrow().cast(noted))


def write_parts(parts: Iterable[pl.DataFrame], path: str | Path, identity: str) -> None:
    """Write a table that comes in parts as Parquet, with one of them in memory at a time.

    Its bytes do not depend on where the parts end. There must be at least one part.
    """
    waiting = iter(parts)
    first = next(waiting)  # it may take long, and a kill meanwhile leaves no folder
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
    """Yield a table from its first row to its last, so many rows at a time."""
    for start in range(0, table.select(pl.len()).collect().item(), n_rows):
        yield table.slice(start, n_rows).collect()


def _metadata(identity: str) -> dict[str, str]:
    return {name: str(value) for name, value in artifact(identity).items()}


def read_tables(paths: Iterable[str], schema: Schema) -> pl.DataFrame:
    """Return the columns of a schema out of several tables; no row where there is no table."""
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

    Parquet and CSV have all of it; Markdown and LaTeX the part that is read, as `printed` makes it,
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
