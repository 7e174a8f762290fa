"""Draw random rows of a study to run again, and count equal results."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from userturn.audit.pair import place_of
from userturn.datasets.messages import Message
from userturn.sources.registry import judged
from userturn.storage.table_files import Schema
from userturn.study.grid import Grid

UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException)
MEASURES = ("equal_bytes", "equal_tokens", "equal_label", "equal_scores")
MOST_APART = 0.05  # nats a token between equal scores: engines and batches differ in rounding
RERUN_SCHEMA: Schema = {
    "key": pl.String,
    "artifact": pl.String,
    "row": pl.Int64,
    **dict.fromkeys(MEASURES, pl.Boolean),
    "reason": pl.String,
}


class Reruns(NamedTuple):
    """The results of running requests again.

    Attributes:
        table: one row per request: `key`; `artifact`, a path that begins with the results folder's
            name, and its `row` from 0; those of `MEASURES`, null if there is
            nothing to compare; `reason` why it was not run again.
        cost: money that was spent, None if no price is known.
    """

    table: pl.DataFrame
    cost: float | None = None

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """How many are equal, of how many that were compared, by measure."""
        seen = {measure: self.table[measure].drop_nulls() for measure in MEASURES}
        return {measure: (int(column.sum()), len(column)) for measure, column in seen.items()}

    @property
    def n_not_run(self) -> int:
        """The number of requests that were not run again."""
        return self.table["reason"].drop_nulls().len()


class SampledRow(NamedTuple):
    """A row of an artifact that was drawn."""

    path: Path
    row: int
    values: dict[str, Any]


def conversation_of(grid: Grid, folder: Path, item: str) -> list[Message] | None:
    """Return the conversation of an item before a turn in a folder; None if it is not here."""
    turns = judged(grid).get(folder.relative_to(grid.results).as_posix())
    path = None if turns is None else place_of(grid, turns.items)
    if path is None or not path.is_file():
        return None
    found = pl.scan_parquet(path).filter(pl.col("item") == item).select("messages").collect()
    return None if found.is_empty() else found["messages"].to_list()[0]


def draw_rows_by(
    column: str, paths: Sequence[Path], is_wanted: pl.Expr, k: int, rng: np.random.Generator
) -> dict[str, list[SampledRow]]:
    """Return at most `k` random rows of some tables by the values of a column, sorted."""
    groups: dict[str, list[SampledRow]] = {}
    for drawn in draw_rows(paths, is_wanted, k, rng):
        groups.setdefault(drawn.values[column], []).append(drawn)
    return dict(sorted(groups.items()))


def draw_rows(
    paths: Sequence[Path], is_wanted: pl.Expr, k: int, rng: np.random.Generator
) -> Iterator[SampledRow]:
    """Yield at most `k` random rows of some tables, each as likely as any other.

    Unreadable tables are skipped: a damaged file is reported by its hash. They are read by pyarrow,
    since Polars ends the process at some damages, for which it wants more memory than there is.
    """
    frames = [pl.DataFrame(schema={"row": pl.UInt32, "file": pl.Int32})]
    for number, path in enumerate(paths):
        file = pl.lit(number, dtype=pl.Int32).alias("file")
        with suppress(*UNREADABLE):
            table = _rows_of(path, is_wanted.meta.root_names())
            frames.append(table.filter(is_wanted).select("row", file))
    found = pl.concat(frames)
    chosen = found[np.sort(rng.choice(found.height, min(k, found.height), replace=False))]
    for (file,), rows in chosen.partition_by("file", as_dict=True, maintain_order=True).items():
        path = paths[file]
        drawn: list[dict[str, Any]] = []
        with suppress(*UNREADABLE):
            drawn = _rows_of(path).filter(pl.col("row").is_in(rows["row"].implode())).to_dicts()
        yield from (SampledRow(path, values.pop("row"), values) for values in drawn)


def _rows_of(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    return pl.read_parquet(path, columns=columns, use_pyarrow=True).with_row_index("row")


def rerun_table(results: Path, rows: Sequence[tuple[SampledRow, dict[str, Any]]]) -> pl.DataFrame:
    """Return the outcomes of drawn rows as a table; missing values are null."""
    named = [
        {
            "key": drawn.values["key"],
            "artifact": f"results/{drawn.path.relative_to(results).as_posix()}",
            "row": drawn.row,
            **became,
        }
        for drawn, became in rows
    ]
    return pl.DataFrame(named, schema=RERUN_SCHEMA)
