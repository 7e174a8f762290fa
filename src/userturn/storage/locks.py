"""Locks between processes of one host, which end with the process however it dies.

Snakemake's own lock is a file that only its owner's orderly end removes. Beside it each driver
holds a lock of the operating system. A process that gets that lock while Snakemake's still exists,
on the host where it was taken, knows that its owner is gone.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let one process of this machine run at a time; the lock ends with it, however it dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_held(path: Path) -> bool:
    """Tell whether a process of this machine holds the lock of a file; nobody that of none."""
    if not path.exists():
        return False
    with path.open("rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
