"""Write files whole or not at all, with their identity."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCHEMA_VERSION = "1"
LEFT_ON_A_FULL_DISK = 65_536  # bytes at most

_noting: list[set[Path]] = []  # the open sets of `files_written`, innermost last


@contextmanager
def files_written() -> Iterator[set[Path]]:
    """Yield a set that collects the files that this process writes, in any thread, in the block.

    It contains the files of `written_whole` and `journal.Writer`.
    """
    written: set[Path] = set()
    _noting.append(written)
    try:
        yield written
    finally:
        _noting.pop()


def note_written(path: Path) -> None:
    """Note that a file was written, for every `files_written` that is open."""
    for written in _noting:
        written.add(path)


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block ends, or nothing at all."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(target)
        note_written(target)
    except Exception as error:
        is_full = shutil.disk_usage(target.parent).free < LEFT_ON_A_FULL_DISK
        if is_full and getattr(error, "errno", None) in (None, errno.ENOSPC):  # Polars has none
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(text: str, path: str | Path) -> None:
    """Write a text as UTF-8, whole."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def artifact(identity: str | None) -> dict[str, str | None]:
    """Return the metadata of every artifact: the hash of its settings, and a schema version."""
    return {"identity": identity, "schema_version": SCHEMA_VERSION}


def write_json(content: Mapping[str, Any], path: str | Path, identity: str) -> None:
    """Write an object as JSON with its identity under `artifact`."""
    named = {"artifact": artifact(identity), **content}
    write_text(json.dumps(named, indent=1, ensure_ascii=False) + "\n", path)


def read_identity(path: str | Path) -> str | None:
    """Return the identity of a Parquet file; None without a file, or one of another program."""
    return read_artifact(path).get("identity")


def read_artifact(path: str | Path) -> dict[str, Any]:
    """Return the metadata of an artifact, Parquet or JSON; empty if userturn did not write it."""
    try:
        if Path(path).suffix == ".parquet":
            return _parquet_metadata(path)
        content = json.loads(Path(path).read_bytes())
        found = content.get("artifact") or content["usermeta"]["artifact"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _parquet_metadata(path: str | Path) -> dict[str, str]:
    if not Path(path).is_file():
        return {}
    # Not with Polars: Snakemake has already loaded pyarrow, and reads no tables otherwise.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        noted = pq.read_metadata(path).metadata or {}
    except pa.ArrowException:  # not all of them are ValueErrors
        return {}
    return {name.decode(): value.decode(errors="replace") for name, value in noted.items()}
