"""A journal read line by line, as `userturn.storage.journal_table` reads it as a table."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from userturn.storage.journal import files_of_journal, read_lines, record_of


@dataclass
class Replay:
    """The content of a journal, with one record per key and the number of torn lines."""

    records: dict[str, dict[str, Any]]
    n_lines: int = 0
    n_torn: int = 0


def read_journal(folder: str | Path) -> Replay:
    """Read a journal, oldest line first, and keep the first finished record of each key.

    Notes, which have no key of their own (`journal_table.NOTE_SCHEMA`), are left out.
    """
    replay = Replay({})
    for path in files_of_journal(folder):
        for lines in read_lines(path):
            finished = [record for record in map(record_of, lines.whole) if "key" in record]
            replay.n_lines += len(finished) + lines.n_torn
            replay.n_torn += lines.n_torn
            for record in finished:
                if replay.records.get(record["key"], {"outcome": "error"})["outcome"] == "error":
                    replay.records[record["key"]] = record
    return replay
