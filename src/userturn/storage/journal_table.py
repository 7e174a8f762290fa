"""Read journals as tables: for each request's key, the one record that counts."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from userturn.storage.journal import files_of_journal, read_lines
from userturn.storage.table_files import Schema

OUTCOME_SCHEMA: Schema = {
    "key": pl.String,
    "outcome": pl.String,
    "text": pl.String,
    "token_ids": pl.List(pl.Int32),
    "finish_reason": pl.String,
    "error": pl.String,
}
# Notes are lines without a key: another ask of a request, or the reason why none is sent.
NOTE_SCHEMA: Schema = {
    "of": pl.String,  # key of the request
    "ask": pl.String,  # hash of what is asked for (study.asks)
    "asked_as": pl.String,  # name of the dataset in key and seed
    "item": pl.String,
    "error": pl.String,  # why no request is sent
    "planner": pl.Int64,  # version of the planner that says so
}
ASKED_SCHEMA: Schema = {
    **NOTE_SCHEMA,
    "key": pl.String,
    "outcome": pl.String,
    "n_prompt": pl.Int64,  # tokens
}
Journal = str | Path | Sequence[Path] | pl.DataFrame
"""A folder, several that are read together, or outcomes that were read already."""


def blocks_of(journal: str | Path | Sequence[Path], schema: Schema) -> Iterator[pl.DataFrame]:
    """Yield some columns of a journal's lines, oldest first in each folder, a block at a time."""
    folders = [journal] if isinstance(journal, str | Path) else journal
    for folder in folders:
        for path in files_of_journal(folder):
            for lines in read_lines(path):
                yield table_of(lines.whole, schema)


def read_outcomes(
    journal: Journal,
    keys: pl.Series | None = None,
    columns: Sequence[str] | None = None,
    schema: Schema = OUTCOME_SCHEMA,
) -> pl.DataFrame:
    """Read all files of a journal, oldest first, into a table with one row per key.

    Lines without a key are left out. For each key the first finished record counts, else the last
    error. A record is finished unless its outcome is `error`. Errors are kept to be counted, and
    the next sweep sends their requests again.

    Args:
        journal: the journal.
        keys: keys whose records are kept, or None for all.
        columns: columns of the schema, including `key` and `outcome`, or None for all.
        schema: schema of the records.
    """
    schema = {name: schema[name] for name in columns or schema}
    sorted_keys = None if keys is None else keys.drop_nulls().sort()
    if isinstance(journal, pl.DataFrame):
        return _only(sorted_keys, journal.select(*schema))
    blocks = (_only(sorted_keys, part.drop_nulls("key")) for part in blocks_of(journal, schema))
    return _one_a_key(pl.concat([pl.DataFrame(schema=schema), *blocks]))


def has_failed(folder: str | Path) -> bool:
    """Return whether any request in a journal ended in an error, even if it was asked again."""
    schema = {"outcome": OUTCOME_SCHEMA["outcome"]}
    return any((block["outcome"] == "error").any() for block in blocks_of(folder, schema))


def _only(keys: pl.Series | None, records: pl.DataFrame) -> pl.DataFrame:
    """Return the records of some sorted keys, which is faster than `is_in`, or all for None."""
    if keys is None or keys.is_empty():
        return records if keys is None else records.clear()
    places = keys.search_sorted(records["key"]).clip(upper_bound=len(keys) - 1)
    return records.filter(keys.gather(places) == records["key"])


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


def read_asked(journal: Sequence[Path], keys: pl.Series, asks: pl.Series) -> pl.DataFrame:
    """Return the journal lines of some keys or asks, one row per line (`ASKED_SCHEMA`).

    Notes have no key, so they are found by their asks.
    """
    is_asked = pl.col("key").is_in(keys.implode()) | pl.col("ask").is_in(asks.implode())
    parts = (block.filter(is_asked) for block in blocks_of(journal, ASKED_SCHEMA))
    return pl.concat([pl.DataFrame(schema=ASKED_SCHEMA), *parts])


def finished_keys(journal: Journal, keys: pl.Series) -> set[str]:
    """Return which of some keys a journal has finished."""
    outcomes = read_outcomes(journal, keys, ["key", "outcome"])
    return set(outcomes.filter(pl.col("outcome") != "error")["key"])
