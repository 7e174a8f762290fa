"""Content hashes: equal content has equal fingerprints, whatever its order, name or time."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from userturn.errors import UserError

WHOLE_FILE_LIMIT = 64 * 1024 * 1024
EDGE = 1024 * 1024
SHORT = 12  # characters of a hash that people read


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN, UTF-8 kept."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def fingerprint(value: Any) -> str:
    """Return the sha256 (hex) of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def file_sha256(path: str | Path) -> str:
    """Return the sha256 (hex) of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def beginning_sha256(path: str | Path, n_bytes: int) -> str:
    """Return the sha256 (hex) of a file's first bytes, for files that grow."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while n_bytes > 0 and (part := file.read(min(n_bytes, EDGE))):
            digest.update(part)
            n_bytes -= len(part)
    return digest.hexdigest()


def short_hash(digest: str | None) -> str:
    """Return the beginning of a hash, long enough to tell two hashes apart, or "none"."""
    return "none" if digest is None else digest[:SHORT]


def check_sha256(path: str | Path, expected: str) -> None:
    """Check a file's content against a pinned hash, or raise UserError."""
    digest = file_sha256(path)
    if digest != expected:
        raise UserError(
            f"'{path}': found the sha256 {digest}, expected {expected}; download the pinned file "
            "again, or correct `sha256` in the dataset's entry"
        )


def sampled_sha256(path: Path) -> str:
    """Return the sha256 of a file, or of its size and both ends if it is over 64 MiB."""
    size = path.stat().st_size
    if size <= WHOLE_FILE_LIMIT:
        return file_sha256(path)
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(EDGE))
        file.seek(-EDGE, 2)
        digest.update(file.read(EDGE))
    return digest.hexdigest()


def files_fingerprint(paths: Iterable[Path]) -> str:
    """Return one fingerprint of the names and contents of several files.

    For a file over 64 MiB (weights) only the size, the first and the last MiB count, so that a
    model folder is identified in milliseconds whenever the workflow is parsed.
    """
    return fingerprint(sorted([path.name, sampled_sha256(path)] for path in paths))
