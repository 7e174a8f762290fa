"""Archives of studies, opened without trusting the names inside."""

import json
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from zipfile import BadZipFile, ZipFile, ZipInfo

from userturn.errors import UserError

LEFT_OUT = "left_out.json"


def read_left_out(results: Path) -> dict[str, str]:
    """Return the sha256 of what an export left out, by path; empty if nothing was.

    Raises:
        UserError: the list beside the results cannot be read.
    """
    path = results.parent / LEFT_OUT
    if not path.is_file():
        return {}
    try:
        return {entry["path"]: entry["sha256"] for entry in json.loads(path.read_bytes())["files"]}
    except (ValueError, LookupError, TypeError) as error:
        raise UserError(
            f"'{path}' is not the list that `userturn export` writes ({type(error).__name__}); "
            "fetch the archive again"
        ) from error


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """Yield a study's results folder: `path` itself, or one in an archive, unpacked meanwhile.

    Raises:
        UserError: it is neither, or the archive contains what no export writes.
    """
    if path.is_dir():
        yield path
        return
    with TemporaryDirectory(prefix="userturn-") as folder:
        _unpack(path, Path(folder))
        results = Path(folder, "results")
        if not results.is_dir():
            raise UserError(
                f"'{path}' has no folder 'results'; expected an archive that `userturn export` "
                "wrote"
            )
        yield results


def _unpack(path: Path, folder: Path) -> None:
    try:
        with ZipFile(path) as archive:
            _check(path, archive.infolist(), shutil.disk_usage(folder).free)
            archive.extractall(folder)
    except (OSError, BadZipFile, RuntimeError, NotImplementedError, ValueError, EOFError) as error:
        raise UserError(
            f"'{path}' is neither a results folder nor a whole archive of one "
            f"({type(error).__name__}: {error}); correct the path, or download the archive again"
        ) from error


def _check(path: Path, members: list[ZipInfo], free: int) -> None:
    """Refuse an archive before anything of it is written.

    Raises:
        UserError: a member's name leads out of the folder or occurs twice, a member is not a
            plain file, or together they need more bytes than are free.
    """
    seen: set[str] = set()
    for member in members:
        reason = _unsafe(member, seen)
        if reason:
            raise UserError(
                f"'{path}' was not opened: its member {member.filename!r} {reason}; expected an "
                "archive as `userturn export` wrote it"
            )
        seen.add(member.filename.casefold())
    size = sum(member.file_size for member in members)
    if size > free:
        raise UserError(
            f"'{path}' was not opened: unpacked it has {size} bytes, and {free} are free; make "
            "room, or set TMPDIR to a folder that has it"
        )


def _unsafe(member: ZipInfo, seen: set[str]) -> str | None:
    """Return what is wrong with a member, if anything."""
    name = PurePosixPath(member.filename)
    mode = member.external_attr >> 16
    if name.is_absolute() or ".." in name.parts or set(member.filename) & set("\\:\0"):
        return "leads out of the folder"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device"
    if member.filename.casefold() in seen:
        return "occurs twice"
    return None
