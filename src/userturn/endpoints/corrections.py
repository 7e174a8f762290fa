"""Corrections by users of the cost that a judge's accounts count, with the users' reasons.

A correction covers the accounts that existed. Earlier corrections stay in the file, and only a
judge's last one counts.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from userturn.storage.journal import Writer, files_of_journal, read_lines, record_of

CORRECTIONS = "corrections"  # folder beside a judge's accounts


class Correction(NamedTuple):
    """A judge's total cost as a user states it, in place of some accounts.

    Attributes:
        covers: names of the accounts that it replaces.
    """

    judge: str
    paid: float
    because: str
    at: str
    covers: list[str]


def correct(folder: Path, judge: str, paid: float, because: str, covers: Iterable[str]) -> None:
    """Write a correction of a judge's cost into the folder of all accounts."""
    at = datetime.now(UTC).isoformat(timespec="microseconds")
    fields = {"judge": judge, "paid": paid, "because": because, "at": at, "covers": [*covers]}
    with Writer(folder / judge / CORRECTIONS) as writer:
        writer.append({"key": f"{judge} {at}", "outcome": "corrected", **fields})


def read_corrections(folder: Path) -> list[Correction]:
    """Return all corrections of a study, oldest first."""
    corrections = [
        Correction(**{name: record_of(line)[name] for name in Correction._fields})
        for journal in sorted(folder.glob(f"*/{CORRECTIONS}"))
        for path in files_of_journal(journal)
        for lines in read_lines(path)
        for line in lines.whole
    ]
    return sorted(corrections, key=lambda one: one.at)
