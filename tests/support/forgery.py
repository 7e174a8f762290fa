"""Alters files of a finished study as a forger would, together with the hashes in its records."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from userturn.storage.hashing import file_sha256
from userturn.workflow.job_record import read_record, write_record


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def rewrite(path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change a table and keep what it says of itself, as a forger would."""
    metadata = pl.read_parquet_metadata(path)
    kept = {key: metadata[key] for key in ("identity", "schema_version")}
    change(pl.read_parquet(path)).write_parquet(path, metadata=kept)


def forge(results: Path, path: str, everywhere: bool = False) -> None:
    """Write an altered file's hash into the record of its job, or into every record."""
    name, digest = f"results/{path}", file_sha256(results / path)
    kinds = ("outputs", "beside", "inputs") if everywhere else ("outputs", "beside")
    for place in (results / "provenance").rglob("*.json"):
        if (record := read_record(place)) is None:
            continue  # what was forged may be a record that is none now
        for kind in kinds:
            if name in record[kind]:
                record[kind][name] = digest
        write_record(place, record)


def first_row(**values: object) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return a change of some columns in the first row."""

    def change(table: pl.DataFrame) -> pl.DataFrame:
        columns = [
            pl.Series(name, [value, *table[name][1:]], dtype=table.schema[name])
            for name, value in values.items()
        ]
        return table.with_columns(columns)

    return change


def forge_journal(results: Path, journal: Path) -> None:
    """Write an altered journal's length and hash into every record that names it."""
    name = f"results/{journal.relative_to(results).as_posix()}"
    noted = {"n_bytes": journal.stat().st_size, "sha256": file_sha256(journal)}
    for place in (results / "provenance").rglob("*.json"):
        record = read_record(place)
        assert record is not None
        if name in record["journals"]:
            record["journals"][name] = noted
            write_record(place, record)
