"""Parquet files, byte-equal for equal content, CSV that nothing runs, and the columns of keys.

Spreadsheets calculate a cell that begins with = + - @, some also in full width, a tab or a line
end: a user turn such as `=1+1` would be shown as 2, and an item's id could call a program. An
apostrophe before it makes it a text (owasp.org, "CSV Injection"). A cell that begins with
apostrophes and then such a character gets one more, so that `as_written` gives back every text.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from polars import selectors as cs

from userturn.storage.files import artifact, written_whole
from userturn.wording import show_codes

SLICE = 2_000  # rows in memory at once of a table that may be long
PLAN_SLICE = 500  # rows in memory at once of a plan, whose prompts are long
PART = 5_000  # rows that are judged together and written as one row group

Schema = dict[str, pl.DataType | type[pl.DataType]]
ITEM_KEYS = ["dataset", "item"]
ANSWER_KEYS = ["model", *ITEM_KEYS]
CELL_KEYS = ["model", "dataset", "temperature", "perturbation"]
TURN_KEYS = [*CELL_KEYS, "item", "sample"]
STRATUM_KEYS = [*CELL_KEYS, "stratum"]
JUDGED_CELL_KEYS = [*CELL_KEYS, "judge"]
JUDGED_ITEM_KEYS = [*JUDGED_CELL_KEYS, "item"]
# Types of the columns that identify a cell, for the beginning of schemas.
CELL_COLUMNS = {
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "perturbation": pl.String,
}
TURN_COLUMNS = CELL_COLUMNS | {"item": pl.String, "sample": pl.Int64}
JUDGED_CELL_COLUMNS = CELL_COLUMNS | {"judge": pl.String}
FORMULA = re.compile(r"'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")


def write_table(table: pl.DataFrame, path: str | Path, identity: str, **more: str) -> None:
    """Write a table as Parquet with its identity, and `more`, in its metadata."""
    with written_whole(path) as temporary:
        table.write_parquet(temporary, metadata=_metadata(identity) | more)


@contextmanager
def table_writer(
    schema: Schema, path: str | Path, identity: str, **more: str
) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Yield a function that adds rows to a table, whose file appears when the block ends."""
    import pyarrow.parquet as pq  # half a second to import

    arrow_schema = pl.DataFrame(schema=schema).to_arrow().schema
    noted = arrow_schema.with_metadata(_metadata(identity) | more)
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
            temporary, metadata=_metadata(identity), row_group_size=PART, maintain_order=True
        )


def slices(table: pl.LazyFrame, n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield a table from its first row to its last, `n_rows` rows at a time."""
    for start in range(0, table.select(pl.len()).collect().item(), n_rows):
        yield table.slice(start, n_rows).collect()


def _metadata(identity: str) -> dict[str, str]:
    return {name: str(value) for name, value in artifact(identity).items()}


def read_tables(paths: Iterable[str], schema: Schema) -> pl.DataFrame:
    """Return the columns of a schema from several tables, or an empty table if there are none."""
    tables = [pl.read_parquet(path, columns=list(schema)) for path in sorted(paths)]
    return pl.concat(tables) if tables else pl.DataFrame(schema=schema)


def as_cell(text: str) -> str:
    """Return a text as the cell of a CSV file that no spreadsheet calculates."""
    return f"'{text}" if FORMULA.match(text) else text


def as_written(cell: str) -> str:
    """Return the text of a cell that `as_cell` or the annotation page wrote."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def csv_of(table: pl.DataFrame) -> str:
    """Return a table as CSV, where no text is a formula and unseen characters are ⟦U+XXXX⟧.

    Numbers stay numbers, negative ones too.
    """
    texts = table.select(cs.string() | cs.categorical() | cs.enum()).cast(pl.String)
    safe = [
        pl.Series(name, [None if text is None else as_cell(show_codes(text)) for text in values])
        for name, values in texts.to_dict().items()
    ]
    return table.with_columns(column.cast(pl.String) for column in safe).write_csv()
