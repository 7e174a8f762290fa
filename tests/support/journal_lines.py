"""A journal, line by line."""

from pathlib import Path
from typing import Any

from userturn.storage.journal import files_of_journal, read_lines, record_of


def records_of(journal: str | Path) -> list[dict[str, Any]]:
    """Return all records of a journal with a key, oldest first."""
    parts = (part for path in files_of_journal(journal) for part in read_lines(path))
    return [r for part in parts for r in map(record_of, part.whole) if "key" in r]


def read_journal(journal: str | Path) -> dict[str, dict[str, Any]]:
    """Return the record of each key that stands: the first without an error, else the last."""
    standing: dict[str, dict[str, Any]] = {}
    for record in records_of(journal):
        if standing.get(record["key"], {"outcome": "error"})["outcome"] == "error":
            standing[record["key"]] = record
    return standing
