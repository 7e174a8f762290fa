"""A batch on its way: the file of its questions, the replies in its output, notes on each step.

The notes stand beside a judge's journal, so that a job finds its batch again after a kill.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from userturn.endpoints.usage import Price, Spent, money
from userturn.storage.files import is_held
from userturn.storage.journal import Writer, decode_line, read_journal

LARGEST_BATCH = 50_000  # questions, as many as the API takes
LARGEST_FILE = 190_000_000  # bytes; the API takes 200 MB
UNKNOWN_REQUEST = 100_000  # bytes, if the note of a file lacks the size of its requests
KEY = re.compile(r"[0-9a-f]{64}")


@dataclass
class BatchFile:
    """A file of questions in the making."""

    keys: list[str] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    most: Spent = field(default_factory=Spent)  # what all of them together may cost
    _n_bytes: int = 0

    def is_full(self, line: bytes) -> bool:
        """Tell whether one more line would make it larger than the API takes."""
        is_long = self._n_bytes + len(line) + 1 > LARGEST_FILE
        return bool(self.lines) and (is_long or len(self.lines) >= LARGEST_BATCH)

    def add(self, key: str, line: bytes, most: Spent) -> None:
        """Add the line of a question that may cost so much."""
        self.keys.append(key)
        self.lines.append(line)
        self.most += most
        self._n_bytes += len(line) + 1


class BatchReply(NamedTuple):
    """One reply of a batch."""

    key: str
    status: int  # HTTP status of the response, 0 without one
    body: bytes
    text: str  # the API's message if the status is not 200


def _read_line(line: bytes) -> BatchReply | None:
    try:
        parsed: Any = json.loads(line)
        key, response = parsed["custom_id"], parsed.get("response") or {}
        status, body = response.get("status_code", 0), response.get("body")
        text = json.dumps(parsed.get("error") or body)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(key, str) or not KEY.fullmatch(key) or not isinstance(status, int):
        return None
    return BatchReply(key, status, json.dumps(body).encode(), text)


def read_lines(contents: Iterable[bytes]) -> tuple[list[BatchReply], int]:
    """Return the replies in a batch's output files, and the number of unreadable lines."""
    lines = [line for content in contents for line in content.splitlines() if line.strip()]
    found = [reply for line in lines if (reply := _read_line(line)) is not None]
    return found, len(lines) - len(found)


def keys_collected(journal: Path, batch: str) -> set[str]:
    """Return the keys of the questions whose replies from a batch are in a journal."""
    name = batch.encode()
    keys = set()
    for path in sorted(journal.glob("[!.]*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                record = decode_line(line) if name in line else None
                if record is not None and record.get("of_batch") == batch:
                    keys.add(str(record["key"]))
    return keys


@dataclass(frozen=True)
class OpenBatch:
    """A batch whose replies are not all in the journal."""

    file: str
    batch: str | None  # id of the batch made from it; None if none is noted
    are_repairs: bool = False  # whether its questions are asked for the second time
    most: Spent = field(default_factory=Spent)  # that all its requests may cost
    largest: int = UNKNOWN_REQUEST  # bytes of its longest request
    keys: tuple[str, ...] = ()  # of its questions; none in a note of an older version


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

    `journals` is the folder of the journals of all judges, each with one for each dataset.
    """
    total = 0.0
    for folder in sorted(journals.glob("*/*/batches")):
        judge, lock = folder.parts[-3], folder.parent / "lock"
        if judge in prices and not is_held(lock):
            total += sum(money(one.most, prices[judge]) for one in BatchNotes(folder.parent).open())
    return total
