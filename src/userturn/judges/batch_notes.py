"""Notes on each batch beside a judge's journal, so that a job finds it again after a kill."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from userturn.endpoints.usage import Price, Spent, money
from userturn.storage.files import is_held
from userturn.storage.journal import Writer, read_journal

UNKNOWN_REQUEST = 100_000  # bytes, if the note of a file lacks the size of its requests


@dataclass(frozen=True)
class OpenBatch:
    """A batch whose replies are not all in the journal.

    Attributes:
        file: id of the uploaded file.
        batch: id of the batch made from it; None if none is noted.
        are_repairs: whether its questions are asked for the second time.
        most: the most that all its requests together may cost.
        largest: bytes of its longest request.
        keys: of its questions; none in a note of an older version.
    """

    file: str
    batch: str | None
    are_repairs: bool = False
    most: Spent = field(default_factory=Spent)
    largest: int = UNKNOWN_REQUEST
    keys: tuple[str, ...] = ()


class BatchNotes:
    """The notes of one judge and dataset."""

    def __init__(self, journal: Path) -> None:
        """Open the notes in the folder of the judge's journal."""
        self.folder = journal / "batches"

    def _note(self, step: str, file: str, batch: str | None, **more: Any) -> None:
        with Writer(self.folder) as writer:
            key = f"{file} {step}"
            writer.append({"key": key, "outcome": step, "file": file, "batch": batch, **more})

    def uploaded(self, one: OpenBatch) -> None:
        """Note an uploaded file."""
        sizes = {"most": vars(one.most), "largest": one.largest, "keys": one.keys}
        self._note("uploaded", one.file, None, are_repairs=one.are_repairs, **sizes)

    def created(self, file: str, batch: str) -> None:
        """Note the batch that was made from a file."""
        self._note("created", file, batch)

    def collected(self, file: str, batch: str) -> None:
        """Note that all replies of a batch are in the journal, or that none will come."""
        self._note("collected", file, batch)

    def open(self) -> list[OpenBatch]:
        """Return the batches that are not yet collected, in the order of their files' ids."""
        found = list(read_journal(self.folder).records.values())
        batches = {note["file"]: note["batch"] for note in found if note["outcome"] == "created"}
        collected = {note["file"] for note in found if note["outcome"] == "collected"}
        uploaded = {note["file"]: note for note in found if note["outcome"] == "uploaded"}
        return [
            OpenBatch(
                file,
                batches.get(file),
                note.get("are_repairs", False),
                Spent(**note.get("most", {})),
                note.get("largest", UNKNOWN_REQUEST),
                tuple(note.get("keys", ())),
            )
            for file, note in sorted(uploaded.items())
            if file not in collected
        ]


def cost_of_abandoned(journals: Path, prices: Mapping[str, Price]) -> float:
    """Return the most that the batches may cost that are out and that no job waits for.

    Args:
        journals: folder of the journals of all judges, each with one for each dataset.
        prices: prices of the judges.
    """
    total = 0.0
    for folder in sorted(journals.glob("*/*/batches")):
        judge, lock = folder.parts[-3], folder.parent / "lock"
        if judge in prices and not is_held(lock):
            total += sum(money(one.most, prices[judge]) for one in BatchNotes(folder.parent).open())
    return total
