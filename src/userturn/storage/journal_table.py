"""Journals as tables: for each request's key, the one record that counts."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from userturn.storage.journal import files_of_journal, read_lines
from userturn.storage.parquet import Schema

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
    columns: Sequence[str] | None = None,
    schema: Schema = OUTCOME_SCHEMA,
) -> pl.DataFrame:
    """Read what every file of a journal holds, oldest first, one row per key.

    Of one key the first finished record counts, else the last error. A record is finished unless
    its outcome is `error`: errors are kept to be counted, and asked again by the next sweep.

    Args:
        folder: of the journal.
        keys: whose records are kept, None for all.
        columns: of the schema, `key` and `outcome` among them; None for all.
        schema: of the records.
    """
    schema = {name: schema[name] for name in columns or schema}
    wanted = None if keys is None else keys.drop_nulls().sort()
    blocks = (
        _only(wanted, table_of(lines.whole, schema))
        for path in files_of_journal(folder)
        for lines in read_lines(path)
    )
    return _one_a_key(pl.concat([pl.DataFrame(schema=schema), *blocks]))


def _only(wanted: pl.Series | None, records: pl.DataFrame) -> pl.DataFrame:
    """Return the records of some sorted keys, None for all; `is_in` would hash them each time."""
    if wanted is None or wanted.is_empty():
        return records if wanted is None else records.clear()
    places = wanted.search_sorted(records["key"]).clip(upper_bound=len(wanted) - 1)
    return records.filter(wanted.gather(places) == records["key"])


def _one_a_key(records: pl.DataFrame) -> pl.DataFrame:
    if records["key"].n_unique() == records.height:
        return records  # as nearly always, without the memory of what follows
    is_error = pl.col("outcome") == "error"
    finished = records.filter(~is_error).unique("key", keep="first")
    errors = records.filter(is_error).unique("key", keep="last")
    return pl.concat([finished, errors.join(finished, on="key", how="anti")])


def table_of(lines: Iterable[bytes], schema: Schema) -> pl.DataFrame:
    """Return whole lines of a journal as a table, a row a line."""
    return pl.read_ndjson(b"".join(lines), schema=schema)


def finished_keys(folder: str | Path, keys: pl.Series) -> set[str]:
    """Return those of some keys that a journal holds finished."""
    outcomes = read_outcomes(folder, keys, ["key", "outcome"])
    return set(outcomes.filter(pl.col("outcome") != "error")["key"])
