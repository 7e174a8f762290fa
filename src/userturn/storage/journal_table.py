"""What became of requests: the one record of a journal that stands for each key, as a table."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from userturn.storage.journal import files_of_journal, placed_lines, whole_lines
from userturn.storage.parquet import Schema

OUTCOME_SCHEMA: Schema = {
    "key": pl.String,
    "outcome": pl.String,
    "text": pl.String,
    "token_ids": pl.List(pl.Int32),
    "finish_reason": pl.String,
    "error": pl.String,
}
PLACE_SCHEMA: Schema = {
    "key": pl.String,
    "outcome": pl.String,
    "path": pl.Categorical,
    "offset": pl.Int64,
    "length": pl.Int64,
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
    wanted = None if keys is None else keys.drop_nulls().sort()
    blocks = (
        _only(wanted, read_lines(lines, schema))
        for path in files_of_journal(folder)
        for lines in whole_lines(path)
    )
    return _standing(pl.concat([pl.DataFrame(schema=schema), *blocks]))


def _only(wanted: pl.Series | None, records: pl.DataFrame) -> pl.DataFrame:
    """Return the records of some sorted keys, None for all; `is_in` would hash them each time."""
    if wanted is None or wanted.is_empty():
        return records if wanted is None else records.clear()
    places = wanted.search_sorted(records["key"]).clip(upper_bound=len(wanted) - 1)
    return records.filter(wanted.gather(places) == records["key"])


def _standing(records: pl.DataFrame) -> pl.DataFrame:
    if records["key"].n_unique() == records.height:
        return records  # as nearly always, without the memory of what follows
    is_error = pl.col("outcome") == "error"
    finished = records.filter(~is_error).unique("key", keep="first")
    errors = records.filter(is_error).unique("key", keep="last")
    return pl.concat([finished, errors.join(finished, on="key", how="anti")])


def read_lines(lines: Iterable[bytes], schema: Schema) -> pl.DataFrame:
    """Return whole lines of a journal as a table, a row a line."""
    return pl.read_ndjson(b"".join(lines), schema=schema)


def find_outcomes(folder: str | Path, keys: pl.Series) -> pl.DataFrame:
    """Return where the record is that stands for each of some keys: columns of `PLACE_SCHEMA`.

    Offset and length of its line are in bytes.
    """
    wanted = keys.drop_nulls().sort()
    places = (
        _only(wanted, _places(path, lines))
        for path in files_of_journal(folder)
        for lines in placed_lines(path)
    )
    return _standing(pl.concat([pl.DataFrame(schema=PLACE_SCHEMA), *places]))


def _places(path: Path, lines: Sequence[tuple[int, bytes]]) -> pl.DataFrame:
    named = {name: PLACE_SCHEMA[name] for name in ("key", "outcome")}
    return read_lines((line for _, line in lines), named).with_columns(
        path=pl.lit(str(path), PLACE_SCHEMA["path"]),
        offset=pl.Series([offset for offset, _ in lines], dtype=pl.Int64),
        length=pl.Series([len(line) for _, line in lines], dtype=pl.Int64),
    )


def read_places(places: pl.DataFrame, keys: pl.Series) -> pl.DataFrame:
    """Return the records of some keys that are at places which `find_outcomes` gives."""
    wanted, lines = places.filter(pl.col("key").is_in(keys.implode())), []
    for (path,), of_file in wanted.sort("offset").group_by("path"):
        with Path(path).open("rb") as file:
            for offset, length in of_file.select("offset", "length").iter_rows():
                file.seek(offset)
                lines.append(file.read(length))
    return read_lines(lines, OUTCOME_SCHEMA)


def finished_keys(folder: str | Path, keys: pl.Series) -> set[str]:
    """Return those of some keys that a journal holds finished."""
    outcomes = read_outcomes(folder, keys, ["key", "outcome"])
    return set(outcomes.filter(pl.col("outcome") != "error")["key"])
