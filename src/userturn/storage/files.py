"""Write files whole or not at all, with their identity. Read given files, list folders, take locks.

A lock ends with its process, however that dies. It keeps other processes of the same machine away
from an endpoint's budget and pace or a judge's journal; `leases.py` is for several machines.
"""

import errno
import fcntl
import json
import os
import shutil
import socket
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from userturn.errors import UserError, near_path
from userturn.wording import kind_of

SCHEMA_VERSION = "1"
LEFT_ON_A_FULL_DISK = 65_536  # bytes at most

_noting: list[set[Path]] = []  # the open sets of `files_written`, innermost last


@contextmanager
def files_written() -> Iterator[set[Path]]:
    """Yield a set to which every file is added that this process writes inside the block.

    It has the files of `written_whole` and `journal.Writer`, of all threads.
    """
    written: set[Path] = set()
    _noting.append(written)
    try:
        yield written
    finally:
        _noting.pop()


def note_written(path: Path) -> None:
    """Add a written file to the set of every open `files_written` block."""
    for written in _noting:
        written.add(path)


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block ends without an error."""
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
    """Return the identity of an artifact, or None without a file that userturn wrote."""
    return read_artifact(path).get("identity")


def read_artifact(path: str | Path) -> dict[str, Any]:
    """Return the metadata of a Parquet or JSON file, empty if it has none or cannot be read."""
    try:
        if Path(path).suffix == ".parquet":
            return _parquet_metadata(path)
        content = json.loads(Path(path).read_bytes())
        artifact = content.get("artifact") or content["usermeta"]["artifact"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}
    return artifact if isinstance(artifact, dict) else {}


def _parquet_metadata(path: str | Path) -> dict[str, str]:
    """Return the metadata of a Parquet file, empty if it is none.

    Snakemake and an audit have loaded pyarrow, and most jobs Polars alone. To load pyarrow as well
    takes a job a fifth of its CPU time.
    """
    if not Path(path).is_file():
        return {}
    if "polars" in sys.modules and "pyarrow" not in sys.modules:
        import polars as pl

        try:
            return pl.read_parquet_metadata(path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return {}
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        noted = pq.read_metadata(path).metadata or {}
    except pa.ArrowException:  # not all of them are ValueErrors
        return {}
    return {name.decode(): value.decode(errors="replace") for name, value in noted.items()}


def copy_folder(folder: Path, to: Path, *left_out: str) -> None:
    """Copy a folder with the times of its files, except names of the patterns `left_out`."""
    ignore = shutil.ignore_patterns(*left_out)
    shutil.copytree(folder, to, ignore=ignore, dirs_exist_ok=True)
    for path in (to, *to.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


def paths_below(folder: Path) -> list[Path]:
    """Return the sorted paths of all files and folders below a folder, not following links.

    Raises:
        OSError: a folder may not be read.
    """
    below = os.walk(folder, onerror=_tell)
    return sorted(Path(here, name) for here, *names in below for name in chain(*names))


def _tell(error: OSError) -> None:
    raise error


def check_is_file(path: Path, expected: str) -> None:
    """Check that a path is a file, or raise a `UserError`."""
    if not path.is_file():
        state = "is a folder" if path.is_dir() else "does not exist"
        raise UserError(f"'{path}' {state}; expected {expected}{near_path(path)}")


def read_text(path: str | Path) -> str:
    """Return the text of a file.

    Raises:
        UserError: the path does not exist, is no file, may not be read, or is not UTF-8.
    """
    if Path(path).exists() and not Path(path).is_file():
        raise UserError(f"'{path}' is a folder, a pipe or a device, expected a file; correct it")
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"'{path}': byte {error.start} is not UTF-8; save the file in UTF-8, or fetch it again"
        ) from error
    except OSError as error:
        raise UserError(
            f"'{path}' cannot be read ({error.strerror}); correct the path or its mode"
        ) from error


def read_json(path: str | Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises:
        UserError: as for `read_text`, or the file is not JSON, or its value is no object.
    """
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{path}' is not JSON ({error}); fetch or write it again") from error
    if not isinstance(content, dict):
        raise UserError(f"'{path}' holds {kind_of(content)}, expected an object; fetch it again")
    return content


class NoLocksError(UserError):
    """A file system on which no file can be locked."""

    stays = True


def lock(file: int, path: Path, waits: bool = True) -> bool:
    """Lock an open file for this process, and return whether it did, or raise NoLocksError.

    It waits until the lock is free, or tries once if not `waits`.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        raise NoLocksError(
            f"'{path}' cannot be locked on {socket.gethostname()} ({error.strerror}), which jobs "
            "of judges need; have the file system mounted with `flock` (Lustre) or with locks "
            "(NFS), or link `results` to a folder on one that has them"
        ) from error
    return True


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Run the block in one process of this machine at a time, under a lock that ends with it.

    Raises:
        NoLocksError: as `lock`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        lock(file.fileno(), path)
        yield


def is_locked(path: Path) -> bool:
    """Return whether a process of this machine holds the lock of a file, which may not exist.

    Raises:
        NoLocksError: as `lock`.
    """
    if not path.exists():
        return False
    with path.open("rb+") as file:
        return not lock(file.fileno(), path, waits=False)
