"""Remove Snakemake's own lock if the process that held it is gone."""

import fcntl
import shutil
import socket
from pathlib import Path
from typing import TextIO

_held: list[TextIO] = []


def release_abandoned_lock(folder: Path = Path(".snakemake")) -> bool:
    """Hold this process's lock on a working directory and remove Snakemake's abandoned one.

    Returns:
        Whether a lock was removed. It stays while its owner lives, or if it was taken on another
        host.
    """
    try:
        folder.mkdir(exist_ok=True)
        file = (folder / "driver.lock").open("a+")
    except PermissionError:  # another user's: Snakemake itself will refuse
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    _held.append(file)
    file.seek(0)
    owner, locks = file.read(), folder / "locks"
    locked = locks.is_dir() and any(locks.iterdir())
    if locked and owner != socket.gethostname():
        return False
    shutil.rmtree(locks, ignore_errors=True)
    file.truncate(0)
    file.write(socket.gethostname())
    file.flush()
    return locked


def is_alone() -> bool:
    """Return whether this process holds the lock, so that no other runs a study here."""
    return bool(_held)
