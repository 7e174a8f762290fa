"""Read journals as tables: for each request's key, the one record that counts."""

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
    """Read all files of a journal, oldest first, into a table with one row per key.

    For each key the first finished record counts, else the last error. A record is finished unless
    its outcome is `error`: errors are kept to be counted, and the next sweep sends them again.

    Args:
        folder: folder of the journal.
        keys: keys whose records are kept, None for all.
        columns: columns of the schema, including `key` and `outcome`; None for all.
        schema: schema of the records.
    """
    schema = {name: schema[name] for name in columns or schema}
    wanted = None if keys is None else keys.drop_nulls().sort()
    blocks = (
        _only(wanted, table_of(lines.whole, schema))
        for path in files_of_journal(folder)
        for lines in read_lines(path)
    )
    return _one_a_key(pl.concat([pl.DataFrame(schema=schema), *blocks]))


def has_failed(folder: str | Path) -> bool:
    """Return whether a journal has a request that ended in an error, even if it was asked again."""
    schema = {"outcome": OUTCOME_SCHEMA["outcome"]}
    blocks = (
        table_of(lines.whole, schema)
        for path in files_of_journal(folder)
        for lines in read_lines(path)
    )
    return any((block["outcome"] == "error").any() for block in blocks)


def _only(wanted: pl.Series | None, records: pl.DataFrame) -> pl.DataFrame:
    """Return the records of some sorted keys, None for all; `is_in` would hash them each time."""
    if wanted is None or wanted.is_empty():
        return records if wanted is None else records.clear()
    places = wanted.search_sorted(records["key"]).clip(upper_bound=len(wanted) - 1)
    return records.filter(wanted.gather(places) == records["key"])


def _one_a_key(records: pl.DataFrame) -> pl.DataFrame:
    if records["key"].n_unique() == records.height:
        return records  # the usual case; the code below needs more memory
    is_error = pl.col("outcome") == "error"
    finished = records.filter(~is_error).unique("key", keep="first")
    errors = records.filter(is_error).unique("key", keep="last")
    return pl.concat([finished, errors.join(finished, on="key", how="anti")])


def table_of(lines: Iterable[bytes], schema: Schema) -> pl.DataFrame:
    """Return intact lines of a journal as a table, one row per line."""
    return pl.read_ndjson(b"".join(lines), schema=schema)


def finished_keys(folder: str | Path, keys: pl.Series) -> set[str]:
    """Return which of some keys are finished in a journal."""
    outcomes = read_outcomes(folder, keys, ["key", "outcome"])
    return set(outcomes.filter(pl.col("outcome") != "error")["key"])
