"""Archives of studies, opened without trusting the names and sizes inside."""

import json
import shutil
import stat
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

import polars as pl
from polars.datatypes import DataTypeClass

from userturn.config.trust import is_of_this_folder
from userturn.errors import UserError, near_path
from userturn.storage.files import paths_below
from userturn.workflow.study_files import FAULTS, is_hidden

MOST_COLUMNS = 1000
LONGEST = 10_000_000  # bytes of one text: twice a context of a million tokens
SMALL, MOST_PACKED = 1 << 30, 200  # bytes that any study may hold, or times its files' size
NESTED = (pl.String, pl.Binary, pl.List, pl.Struct)


class TableSize(NamedTuple):
    """The size of a table: columns, bytes in memory, and bytes of its longest text."""

    n_columns: int
    n_bytes: int
    longest: int = 0


def check_tables(results: Path) -> None:
    """Raise UserError, before reading, if a study's tables hold far more than its jobs write."""
    files = [path for path in paths_below(results) if path.is_file()]
    n_bytes, most = 0, max(SMALL, MOST_PACKED * sum(path.stat().st_size for path in files))
    for path in sorted(path for path in files if path.suffix == ".parquet"):
        with suppress(*FAULTS):  # found damaged
            size = _table_size(path, most)
            n_bytes += size.n_bytes
            if size.n_columns > MOST_COLUMNS or size.longest > LONGEST or n_bytes > most:
                break
    else:
        return
    raise UserError(
        f"'{path.relative_to(results.parent)}' was not opened: it has {size.n_columns} columns and "
        f"a text of {size.longest} bytes, and the tables up to it have {n_bytes} bytes; expected "
        f"at most {MOST_COLUMNS}, {LONGEST} and {most}: ask whoever made the study what it holds"
    )


def _table_size(path: Path, most: int) -> TableSize:
    """Return the size of a table, whose values are not read if it has too many rows or columns."""
    table = pl.scan_parquet(path)
    schema = table.collect_schema()
    n_bytes_of_numbers = 8 * len(schema) * table.select(pl.len()).collect().item()
    if n_bytes_of_numbers > most or len(schema) > MOST_COLUMNS:
        return TableSize(len(schema), n_bytes_of_numbers)
    leaves = [leaf for name, kind in schema.items() for leaf in _leaves(pl.col(name), kind)]
    sums = [n.sum().alias(f"sum {i}") for i, (n, _) in enumerate(leaves)]
    longest = [n.max().alias(f"max {i}") for i, (n, is_text) in enumerate(leaves) if is_text]
    counted = table.select(*sums, pl.max_horizontal(0, *longest).alias("longest")).collect()
    *n_bytes, most_in_one = counted.row(0)
    return TableSize(len(schema), sum(n_bytes), most_in_one)


def _leaves(column: pl.Expr, kind: pl.DataType | DataTypeClass) -> Iterator[tuple[pl.Expr, bool]]:
    """Yield expressions for the bytes of each value in a column, and whether they are texts."""
    if isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _leaves(column.struct.field(field.name), field.dtype)
    elif isinstance(kind, pl.List) and isinstance(kind.inner, NESTED):
        yield from _leaves(column.explode(), kind.inner)
    elif isinstance(kind, pl.List):
        yield column.list.len().cast(pl.Int64) * 8, False
    elif isinstance(kind, pl.Array):
        yield from _leaves(column.arr.to_list(), pl.List(kind.inner))
    elif isinstance(kind, pl.String | pl.Binary | pl.Categorical | pl.Enum):
        yield column.cast(pl.Binary).bin.size().cast(pl.Int64), True


LEFT_OUT = "left_out.json"
MOST_MEMBERS = 500_000  # a study of 1,000 cells has some 20,000 files
# The exceptions besides their own that readers of archives raise for a damaged archive.
DAMAGED = (OSError, RuntimeError, NotImplementedError, ValueError, EOFError, zlib.error)


def read_left_out(results: Path, key: str = "sha256") -> dict[str, str]:
    """Return the value of `key` (sha256 or reason) of each file that an export left out, by path.

    Raises:
        UserError: the list beside the results cannot be read.
    """
    path = results.parent / LEFT_OUT
    if not path.is_file():
        return {}
    try:
        listed = {e["path"]: e[key] for e in json.loads(path.read_bytes())["files"]}
        if not all(isinstance(text, str) for pair in listed.items() for text in pair):
            raise TypeError("a path, hash or reason is no text")
        return listed
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise UserError(
            f"'{path}' is not the list that `userturn export` writes ({type(error).__name__}); "
            "fetch the archive again"
        ) from error


class ArchiveMember(NamedTuple):
    """A member of an archive, before it is unpacked."""

    name: str
    n_bytes: int
    is_plain: bool


def check_is_there(path: Path) -> None:
    """Check that the study that a command names exists, or raise a `UserError`."""
    if not path.exists():
        raise UserError(
            f"'{path}' does not exist; expected the results folder of a finished study, or an "
            f"archive of one: run `snakemake` first, or correct the path{near_path(path)}"
        )


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """Yield the results folder of a study, from that folder, one around it, or an archive.

    Archives may be zip or tar, compressed or not, and may have one more folder around the study.

    Raises:
        UserError: `path` has no study, or the archive contains something that no export writes.
    """
    if path.is_dir():
        folder_of_study = results_in(path) or path
        _check_kinds(folder_of_study)
        if not is_of_this_folder(folder_of_study):
            check_links(folder_of_study)
            check_tables(folder_of_study)
        yield folder_of_study
        return
    with TemporaryDirectory(prefix="userturn-") as folder:
        check_is_there(path)
        if not path.is_file():
            raise UserError(f"'{path}' is neither a file nor a folder; name a study or its archive")
        _unpack(path, Path(folder))
        results = results_in(Path(folder))
        if results is None:
            raise UserError(
                f"'{path}' has no file 'results/study.json'; expected an archive that "
                "`userturn export` wrote"
            )
        check_tables(results)
        yield results


def results_in(folder: Path) -> Path | None:
    """Return the path of a results folder: the folder itself, or up to two levels below, or None.

    Raises:
        UserError: the folder has several inside.
    """
    if (own := _results_at(folder)) is not None:
        return own
    deeper = [_results_at(path) for path in sorted(folder.iterdir()) if path.is_dir()]
    studies = [results for results in deeper if results is not None]
    if len(studies) > 1:
        names = ", ".join(str(results.relative_to(folder)) for results in studies[:3])
        raise UserError(f"found {len(studies)} studies ({names}), expected one; name one of them")
    return studies[0] if studies else None


def _results_at(folder: Path) -> Path | None:
    folders = (folder, folder / "results")
    return next((results for results in folders if (results / "study.json").is_file()), None)


def _check_kinds(results: Path) -> None:
    """Check that a folder holds nothing but files, folders and links to either.

    A hidden link that leads nowhere is allowed: editors lock files by one, and nothing reads it.
    """
    for path in paths_below(results):
        is_lock = path.is_symlink() and is_hidden(path.name)
        if not (path.is_file() or path.is_dir() or is_lock):
            raise UserError(
                f"'{path}' is neither a file nor a folder, but a link that leads nowhere, a pipe, "
                "a socket or a device; fetch what the link names, or remove it"
            )


def check_links(results: Path) -> None:
    """Check that no link in a stranger's study, or in the texts beside it, leads out of it.

    Raises:
        UserError: a link leads out of the study.
        OSError: a folder may not be read.
    """
    folder = results.resolve().parent
    texts = paths_below(folder / "data") if (folder / "data").exists() else []
    for path in (*paths_below(results), *texts):
        if not (target := path.resolve()).is_relative_to(folder):
            raise UserError(
                f"'{path}' leads to '{target}', outside of the study, and was not opened; expected "
                "links inside it: run this in the study's own folder, or put the file there"
            )


def _unpack(path: Path, folder: Path) -> None:
    try:
        if is_zipfile(path):
            with ZipFile(path) as archive:
                _check(path, map(_zip_member, archive.infolist()), folder)
                archive.extractall(folder)
        else:
            with tarfile.open(path) as packed:
                _check(path, map(_tar_member, packed), folder)
                packed.extractall(folder, filter="data")
    except (*DAMAGED, BadZipFile, tarfile.TarError) as error:
        # The message of tarfile would list every compression that it tried.
        reason = str(error).partition("\n")[0].removesuffix(":")
        raise UserError(
            f"'{path}' is neither a results folder nor a whole archive of one "
            f"({type(error).__name__}: {reason}); correct the path, or download the archive again"
        ) from error


def _zip_member(info: ZipInfo) -> ArchiveMember:
    mode = stat.S_IFMT(info.external_attr >> 16)
    return ArchiveMember(info.filename, info.file_size, mode in (0, stat.S_IFREG, stat.S_IFDIR))


def _tar_member(info: tarfile.TarInfo) -> ArchiveMember:
    return ArchiveMember(info.name, info.size, info.isreg() or info.isdir())


def _check(path: Path, members: Iterable[ArchiveMember], folder: Path) -> None:
    """Check all members of an archive before any of them is unpacked."""
    seen: set[str] = set()
    size, packed = 0, path.stat().st_size
    for member in members:
        reason = _unsafe(member, seen)
        if reason:
            raise UserError(
                f"'{path}' was not opened: its member {member.name!r} {reason}; expected an "
                "archive written by `userturn export`"
            )
        seen.add(_folded_path(member))
        size += member.n_bytes
        if len(seen) > MOST_MEMBERS or size > max(SMALL, MOST_PACKED * packed):
            raise UserError(
                f"'{path}' was not opened: {len(seen)} members of its {packed} bytes would become "
                f"{size}; expected at most {MOST_MEMBERS} members, {MOST_PACKED} times the bytes"
            )
    free = shutil.disk_usage(folder).free
    if size > free:
        raise UserError(
            f"'{path}' was not opened: unpacked it has {size} bytes, and {free} are free; make "
            "room, or set TMPDIR to a folder that has it"
        )


def _folded_path(member: ArchiveMember) -> str:  # some file systems have no upper case
    return str(PurePosixPath(member.name)).casefold()


def _unsafe(member: ArchiveMember, seen: set[str]) -> str | None:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or set(member.name) & set("\\:\0"):
        return "leads out of the folder"
    if not member.is_plain:
        return "is a link or a device"
    if _folded_path(member) in seen:
        return "occurs twice"
    return None
