"""What became of requests: the one record of a journal that stands for each key, as a table."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from userturn.journal import files_of_journal, whole_lines
from userturn.tables import Schema

OUTCOME_SCHEMA: Schema = {
    "key": pl.String,
    "outcome": pl.String,
    "text": pl.String,
    "token_ids": pl.List(pl.Int32),
    "finish_reason": pl.String,
    "error": pl.String,
}


def read_outcomes(
    folder: str | Path,
    keys: pl.Series | None = None,
    columns: Sequence[str] = tuple(OUTCOME_SCHEMA),
) -> pl.DataFrame:
    """Read what every file of a journal holds, oldest first, a row a key.

    Of one key the first finished record stands, else the last error. A record is finished unless
    its outcome is `error`: errors are kept to be counted, and asked again by the next sweep.

    Args:
        folder: of the journal.
        keys: whose records are kept, None for all.
        columns: of `OUTCOME_SCHEMA`, `key` and `outcome` among them.
    """
    schema = {name: OUTCOME_SCHEMA[name] for name in columns}
    wanted = pl.lit(True) if keys is None else pl.col("key").is_in(keys.implode())
    table = pl.concat(
        [
            pl.DataFrame(schema=schema),
            *(
                read_lines(lines, schema).filter(wanted)
                for path in files_of_journal(folder)
                for lines in whole_lines(path)
            ),
        ]
    )
    is_error = pl.col("outcome") == "error"
    finished = table.filter(~is_error).unique("key", keep="first")
    errors = table.filter(is_error).unique("key", keep="last").join(finished, on="key", how="anti")
    return pl.concat([finished, errors])


def read_lines(lines: Iterable[bytes], schema: Schema) -> pl.DataFrame:
    """Return whole lines of a journal as a table, a row a line."""
    return pl.read_ndjson(b"".join(lines), schema=schema)


def finished_keys(folder: str | Path, keys: Iterable[str]) -> set[str]:
    """Return those of some keys that a journal holds finished."""
    asked = pl.Series(list(keys), dtype=pl.String)
    outcomes = read_outcomes(folder, asked, ["key", "outcome"])
    return set(outcomes.filter(pl.col("outcome") != "error")["key"])
