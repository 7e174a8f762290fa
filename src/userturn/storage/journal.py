"""Append-only journals: one checksummed JSON line for each finished request.

A journal is a folder that many writers fill at once, each in a file of its own, so no lock is
needed and a network file system will do. A killed writer leaves at most one torn line; readers
drop it, count it, and keep all others.
"""

import hashlib
import json
import os
import socket
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from userturn.storage.atomic_files import WRITTEN
from userturn.storage.hashing import canonical_json

BYTES = 4 * 1024 * 1024  # of a file in memory at once
CHECKSUM_LENGTH = 16
PREFIX = b'{"checksum":"'
BODY = len(PREFIX) + CHECKSUM_LENGTH + 2


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=CHECKSUM_LENGTH // 2).hexdigest().encode()


def encode_line(record: dict[str, Any]) -> bytes:
    """Return one journal line: JSON whose first key is the checksum of all that follows it."""
    body = canonical_json(record)[1:].encode()
    return PREFIX + _checksum(body) + b'",' + body + b"\n"


def is_whole(line: bytes) -> bool:
    """Tell whether a line is as it was written: neither torn nor altered."""
    if not line.endswith(b"\n") or not line.startswith(PREFIX):
        return False
    return line[len(PREFIX) : BODY] == _checksum(line[BODY:-1]) + b'",'


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Return the record of one line, or None where the line is torn or altered."""
    if not is_whole(line):
        return None
    record: dict[str, Any] = json.loads(b"{" + line[BODY:-1])
    return record


class Writer:
    """Appends to one new file of a journal; made on the first line, flushed after every line."""

    def __init__(self, folder: str | Path) -> None:
        """Prepare a writer whose file name no other writer can have."""
        began = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        name = f"{began}-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"
        self.path = Path(folder) / name
        self._descriptor: int | None = None

    def append(self, record: dict[str, Any]) -> None:
        """Write one record as one line, in one call, so that it is there or it is torn."""
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(
                self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
            )
            WRITTEN.add(self.path)
        line = memoryview(encode_line(record))
        while line:
            line = line[os.write(self._descriptor, line) :]

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Sync the file to disk and close it."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None


@dataclass
class Replay:
    """What a journal holds: one record of each key, and how many of its lines were unreadable."""

    records: dict[str, dict[str, Any]]
    n_lines: int = 0
    n_torn: int = 0


def files_of_journal(folder: str | Path) -> list[Path]:
    """Return the files of a journal, oldest first."""
    return sorted(Path(folder).glob("*.jsonl"))


def placed_lines(path: Path) -> Iterator[list[tuple[int, bytes]]]:
    """Yield the whole lines of a file, each with its offset, some at a time."""
    with path.open("rb") as file:
        offset = 0
        while lines := file.readlines(BYTES):
            offsets = list(accumulate(map(len, lines), initial=offset))
            yield [placed for placed in zip(offsets, lines, strict=False) if is_whole(placed[1])]
            offset = offsets[-1]


def whole_lines(path: Path) -> Iterator[list[bytes]]:
    """Yield the whole lines of a file, some at a time."""
    for lines in placed_lines(path):
        yield [line for _, line in lines]


def read_journal(folder: str | Path) -> Replay:
    """Read every line of a journal, oldest first; of one key the first finished record stands.

    `userturn.storage.journal_table` reads the same as a table, in half the time.
    """
    replay = Replay({})
    for path in files_of_journal(folder):
        for line in path.read_bytes().splitlines(keepends=True):
            replay.n_lines += 1
            record = decode_line(line)
            if record is None:
                replay.n_torn += 1
            elif replay.records.get(record["key"], {"outcome": "error"})["outcome"] == "error":
                replay.records[record["key"]] = record
    return replay
