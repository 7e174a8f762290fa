"""After a kill, the same command goes on: locks that a dead Snakemake left behind are removed.

Snakemake's lock is a file that only its owner's orderly end removes. Beside it each driver holds a
lock of the operating system, which ends with the process however it dies. Who gets that lock while
Snakemake's is still there, on the host where it was taken, knows that its owner is gone.
"""

import fcntl
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

_held: list[TextIO] = []


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let one process of this machine at a time go on; the lock ends with it however it dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def release_abandoned_lock(folder: Path = Path(".snakemake")) -> bool:
    """Hold this process's lock on a working directory and remove Snakemake's abandoned one.

    Returns:
        Whether a lock was removed. It is left alone while its owner lives, and where it was taken
        on another host.
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
