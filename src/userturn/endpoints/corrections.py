"""What users say that a judge cost, in place of what its accounts count, with their reasons.

A correction covers the accounts that were there. Earlier ones stay in the file, and only a judge's
last one counts.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from userturn.storage.journal import Writer, files_of_journal, read_lines, record_of

CORRECTIONS = "corrections"  # folder beside a judge's accounts


class Correction(NamedTuple):
    """What a judge cost in all, by the accounts that a user has seen.

    Attributes:
        judge: its name.
        paid: the money.
        because: the user's reason.
        at: when it was said.
        covers: names of the accounts that it takes the place of.
    """

    judge: str
    paid: float
    because: str
    at: str
    covers: list[str]


def correct(folder: Path, judge: str, paid: float, because: str, covers: Iterable[str]) -> None:
    """Write a correction into the folder of all accounts."""
    at = datetime.now(UTC).isoformat(timespec="microseconds")
    said = {"judge": judge, "paid": paid, "because": because, "at": at, "covers": [*covers]}
    with Writer(folder / judge / CORRECTIONS) as writer:
        writer.append({"key": f"{judge} {at}", "outcome": "corrected", **said})


def read_corrections(folder: Path) -> list[Correction]:
    """Return all corrections of a study, oldest first."""
    found = [
        Correction(**{name: record_of(line)[name] for name in Correction._fields})
        for place in sorted(folder.glob(f"*/{CORRECTIONS}"))
        for path in files_of_journal(place)
        for lines in read_lines(path)
        for line in lines.whole
    ]
    return sorted(found, key=lambda one: one.at)
