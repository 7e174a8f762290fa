"""Errors whose message says what to do, full disks, and errors that a retry would meet again.

Snakemake retries a job without knowing why it failed. If every attempt would fail, the reason is
noted until the next run. Then a job that finds a note ends at once, and the driver asks no GPU for
it.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

NOTES = Path("logs", "not_retried")
ENOUGH = 50_000_000  # bytes free, above which a disk is not called full
NOWHERE = "no folder that a run uses, so it is a quota or another disk: see `quota` and `df`"


EXTRAS = {  # packages that only some studies need, by the extra that installs them
    **dict.fromkeys(("accelerate", "gguf", "safetensors", "tokenizers", "torch"), "transformers"),
    "transformers": "transformers",
    "vllm": "vllm",
    **dict.fromkeys(("peft", "trl"), "posttrain"),
    "snakemake_executor_plugin_slurm": "slurm",
}


class UserError(Exception):
    """Bad input in one sentence: what is wrong, what was found, what was expected, what to do."""

    stays: bool = False  # whether another attempt at the same job would fail in the same way


class NoRoomError(Exception):
    """The place where a command writes is full or read-only, while its input is fine."""


class ConfigError(UserError):
    """A configuration that cannot be run."""

    stays = True


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the known name most like `name`, or None if no name is near.

    Capitals and the order of letters do not matter.
    """
    names = sorted(names)
    by_letters = {"".join(sorted(one.casefold())): one for one in reversed(names)}
    swapped = by_letters.get("".join(sorted(name.casefold())))  # such as tyni for tiny
    folded = {one.casefold(): one for one in reversed(names)}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return swapped or (folded[near[0]] if near else None)


def near_miss(name: str, names: Iterable[str]) -> str:
    """Return ", did you mean 'x'?" for the known name most like `name`, else the known names."""
    names = sorted(names)
    if match := nearest(name, names):
        return f", did you mean '{match}'?"
    return f"; expected one of: {', '.join(names)}" if names else "; none is defined"


def near_path(path: str | Path) -> str:
    """Return ", did you mean 'x'?" for the path most like a missing one, or "" for none."""
    target = Path(path)
    nearest_path = Path(target.anchor)
    for part in target.relative_to(nearest_path).parts:
        if not (nearest_path / part).exists():
            try:
                near = get_close_matches(part, [p.name for p in nearest_path.iterdir()], n=1)
            except OSError:  # also from a sandbox
                return ""
            if not near:
                return ""
            part = near[0]
        nearest_path /= part
    here = "./" if str(path).startswith("./") else ""
    return "" if nearest_path == target else f", did you mean '{here}{nearest_path}'?"


def check_name(where: str, name: str, names: Iterable[str], kind: str) -> None:
    """Check that a name in the configuration is known, or raise a ConfigError with its `kind`."""
    if name not in (names := list(names)):
        raise ConfigError(f"{where}: '{name}' is {kind}{near_miss(name, names)}")


def _note(log: str | Path) -> Path:
    return (NOTES / Path(log).relative_to("logs")).with_suffix(".txt")


def note_error(log: str | Path, sentence: str) -> None:
    """Note why a job would fail again, by its log, without effect if nothing can be written."""
    try:
        _note(log).parent.mkdir(parents=True, exist_ok=True)
        _note(log).write_text(sentence, "utf-8")
    except OSError:
        return


def noted_error(log: str | Path) -> str | None:
    """Return why the job with a log would fail again, or None."""
    try:
        return _note(log).read_text("utf-8") or None  # empty: the disk was full
    except OSError:
        return None


def forget_errors() -> None:
    """Forget all notes: a new run tries every job."""
    shutil.rmtree(NOTES, ignore_errors=True)


def how_to_install(package: str) -> str:
    """Return what installs a package: in a clone all are, and a wheel has extras."""
    return f"run `pip install 'userturn[{EXTRAS[package]}]'`, or `make setup` in a clone"


def cache_folder() -> Path:
    """Return the folder of converted models, hashes and logs: $USERTURN_CACHE, else in ~/.cache."""
    return _cache("USERTURN_CACHE", "userturn")


def hub_cache() -> Path:
    """Return the folder of what the hub's client downloads: $HF_HOME, else in ~/.cache."""
    return _cache("HF_HOME", "huggingface")


def _cache(variable: str, name: str) -> Path:
    root = os.environ.get(variable)
    return Path(root) if root else Path.home() / ".cache" / name


def is_full_disk(error: BaseException) -> bool:
    """Return whether an error says that a disk or a quota is full, whoever raised it."""
    message = str(error)
    return os.strerror(errno.ENOSPC) in message or os.strerror(errno.EDQUOT) in message


def _is_full(folder: Path, enough: float) -> bool:
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free < enough


def _disks_inside(folder: Path) -> Iterator[Path]:
    """Yield the folders inside `folder` on another disk, mounted there or linked."""
    for here, inside, _ in os.walk(folder):
        for path in (Path(here, name) for name in sorted(inside)):
            with suppress(OSError):
                if path.stat().st_dev != path.parent.stat().st_dev:
                    yield path


def full_folders(
    results: Path = Path("results"), enough: float = ENOUGH, named: Iterable[Path] = ()
) -> str | None:
    """Return the folders with too few bytes left, in words that say what moves each.

    They are among the folders that a run fills and those that a command named. None if every disk
    has room, such as when a quota is full.
    """
    candidates = {
        **dict.fromkeys(named, "named in the command; name a place on a larger disk"),
        results: "the study's own; link it to a larger disk",
        **dict.fromkeys(_disks_inside(results), "a disk of its own; put a larger one there"),
        cache_folder(): "USERTURN_CACHE moves it",
        hub_cache(): "HF_HOME moves it",
        Path(tempfile.gettempdir()): "TMPDIR moves it",
    }
    full = [f"'{folder}' ({how})" for folder, how in candidates.items() if _is_full(folder, enough)]
    return ", ".join(full) or None


def write_trouble(folder: Path, cure: str) -> str | None:
    """Return why nothing can be written into a folder, made if need be, and the cure, or None."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(bytes(4096))  # a block: a full disk may still take a name
    except OSError as error:
        return f"cannot write into '{folder}' ({error.strerror}); {cure}"
    return None


def sentence(error: BaseException, named: Iterable[Path] = ()) -> str | None:
    """Return an error that the user can fix as one sentence, or None for any other.

    `named` are the paths that the user's command named, whose disk may be full.
    """
    if isinstance(error, UserError | NoRoomError):
        return str(error)
    if is_full_disk(error):
        name = getattr(error, "filename", None)
        where = full_folders(named=named) or (f"'{Path(name).parent}'" if name else NOWHERE)
        return (
            f"the disk is full ({error}) in {where}: free some space and run the same "
            "command again; finished requests are kept in the journal"
        )
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return (
            f"this needs the package '{error.name}', which is not installed; "
            f"{how_to_install(error.name)}"
        )
    if isinstance(error, MemoryError):
        return "it needs more memory than it may take: give it more, or ask less of it at once"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return (
            f"too many files are open ({error}): raise the limit in the shell that starts this, "
            "`ulimit -n 4096`, and run the same command again"
        )
    if _is_read_only(error):
        return (
            f"'{_named(error)}' is on a file system that is mounted for reading "
            "only: have it mounted for writing, or work in a copy of the project elsewhere"
        )
    if isinstance(error, PermissionError):
        return (
            f"'{_named(error)}' may not be read or written by you: change its owner or mode and "
            "run again"
        )
    if isinstance(error, NotADirectoryError | IsADirectoryError | FileExistsError):
        return f"'{error.filename}' is in the way ({error.strerror}): move it and run again"
    if str(error).startswith("parquet: "):  # of polars, which does not name the file
        return (
            f"a Parquet file is damaged ({error}); `userturn audit` of its results folder names it "
            "and the command that makes it again"
        )
    return None


def _named(error: BaseException) -> str:
    """Return the file of an error, which Polars has at the end of its message."""
    return getattr(error, "filename", None) or str(error).rpartition(": ")[2]


def stays(error: BaseException) -> bool:
    """Return whether another attempt at the same job would meet the same error."""
    return (
        is_full_disk(error)
        or _is_read_only(error)
        or isinstance(error, PermissionError)
        or getattr(error, "stays", False)
    )


def _is_read_only(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EROFS
