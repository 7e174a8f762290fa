"""Parquet files, written whole, with their identity, and byte-equal for equal content."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from userturn.storage.atomic_files import artifact, written_whole

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
