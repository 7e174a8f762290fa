"""Append-only journals: one checksummed JSON line for each finished request.

A journal is a folder that many writers fill at once, each with its own file, so no lock is needed
and a network file system suffices. A killed writer leaves at most one torn line, which readers
count and leave out.
"""

import hashlib
import json
import os
import socket
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from userturn.storage.files import note_written
from userturn.storage.hashing import canonical_json

BYTES = 4 * 1024 * 1024  # bytes of a file in memory at once
CHECKSUM_LENGTH = 16
PREFIX = b'{"checksum":"'
BODY = len(PREFIX) + CHECKSUM_LENGTH + 2


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=CHECKSUM_LENGTH // 2).hexdigest().encode()


def encode_line(record: Mapping[str, Any]) -> bytes:
    """Return one journal line, which is JSON whose first key is the checksum of the rest."""
    body = canonical_json(record)[1:].encode()
    return PREFIX + _checksum(body) + b'",' + body + b"\n"


def is_whole(line: bytes) -> bool:
    """Return whether a line is neither torn nor altered."""
    if not line.endswith(b"\n") or not line.startswith(PREFIX):
        return False
    return line[len(PREFIX) : BODY] == _checksum(line[BODY:-1]) + b'",'


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Return the record of one line, or None if the line is torn or altered."""
    return record_of(line) if is_whole(line) else None


def record_of(line: bytes) -> dict[str, Any]:
    """Return the record of an intact line."""
    record: dict[str, Any] = json.loads(b"{" + line[BODY:-1])
    return record


def checksum_of(line: bytes) -> str:
    """Return the checksum at the beginning of an intact line."""
    return line[len(PREFIX) : len(PREFIX) + CHECKSUM_LENGTH].decode()


class Writer:
    """A writer to one new file of a journal, which is made for the first line."""

    def __init__(self, folder: str | Path) -> None:
        """Choose a file name that no other writer can have."""
        began = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        name = f"{began}-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"
        self.path = Path(folder) / name
        self._descriptor: int | None = None

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record as one line in one call, so that a kill tears at most this line."""
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(
                self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
            )
            note_written(self.path)
        line = memoryview(encode_line(record))
        while line:
            line = line[os.write(self._descriptor, line) :]

    def __enter__(self) -> Self:
        """Return the writer itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Sync the file to disk and close it."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None


class Lines(NamedTuple):
    """Some lines of one journal file that were read together."""

    whole: list[bytes]  # the intact lines, oldest first
    n_torn: int  # number of torn or altered lines
    end: int  # bytes before the first incomplete line, where a later reader starts


def files_of_journal(folder: str | Path) -> list[Path]:
    """Return the paths of a journal's files, oldest first."""
    return sorted(Path(folder).glob("[!.]*.jsonl"))


def read_lines(path: Path, start: int = 0) -> Iterator[Lines]:
    """Yield the lines of a file from a byte offset on, about 4 MiB at a time.

    Every reader of a journal uses this function, so that all accept the same lines.
    """
    with path.open("rb") as file:
        file.seek(start)
        while lines := file.readlines(BYTES):
            start += sum(len(line) for line in lines if line.endswith(b"\n"))
            whole = [line for line in lines if is_whole(line)]
            yield Lines(whole, len(lines) - len(whole), start)


def is_without_asks(folder: Path) -> bool:
    """Return whether a journal was begun by a version that did not write asks."""
    for path in files_of_journal(folder)[:1]:
        with path.open("rb") as file:
            line = file.readline()
        return is_whole(line) and "ask" not in record_of(line)
    return False


def finished_records(folder: Path, keys: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the first record without an error of each of some keys, as the journal has it."""
    left = set(keys)
    for path in files_of_journal(folder):
        for line in (line for part in read_lines(path) if left for line in part.whole):
            record = record_of(line)
            if record.get("key") in left and record.get("outcome") != "error":
                left.discard(record["key"])
                yield record
