"""Which disk is full, and what moves the files that are on it."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

ENOUGH = 50_000_000  # bytes free, above which a disk is not called full


def cache_folder() -> Path:
    """Return the folder of converted models: $USERTURN_CACHE, else the user's cache folder."""
    root = os.environ.get("USERTURN_CACHE")
    return Path(root) if root else Path.home() / ".cache" / "userturn"


def _hub_cache() -> Path:
    root = os.environ.get("HF_HOME")
    return Path(root) if root else Path.home() / ".cache" / "huggingface"


def is_full_disk(error: BaseException) -> bool:
    """Return whether an error says that a disk or a quota is full, whoever raised it."""
    said = str(error)
    return os.strerror(errno.ENOSPC) in said or os.strerror(errno.EDQUOT) in said


def _is_full(folder: Path, enough: float) -> bool:
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free < enough


def _disks_inside(folder: Path) -> Iterator[Path]:
    """Yield the folders inside one that are on another disk: mounted there, or links to it."""
    for here, inside, _ in os.walk(folder):
        for path in (Path(here, name) for name in sorted(inside)):
            with suppress(OSError):
                if path.stat().st_dev != path.parent.stat().st_dev:
                    yield path


def full_folders(
    results: Path = Path("results"), enough: float = ENOUGH, named: Iterable[Path] = ()
) -> str | None:
    """Return the folders that are filled and have too few bytes left, with what moves each.

    Those are folders that a run fills, and what a command named. None if every disk has room, as
    where a quota is full.
    """
    candidates = {
        **dict.fromkeys(named, "named in the command; name a place on a larger disk"),
        results: "the study's own; link it to a larger disk",
        **dict.fromkeys(_disks_inside(results), "a disk of its own; put a larger one there"),
        cache_folder(): "USERTURN_CACHE moves it",
        _hub_cache(): "HF_HOME moves it",
        Path(tempfile.gettempdir()): "TMPDIR moves it",
    }
    full = [f"'{folder}' ({how})" for folder, how in candidates.items() if _is_full(folder, enough)]
    return ", ".join(full) or None
