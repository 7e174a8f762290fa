"""Limit the requests in flight to a judge over all its jobs on a machine, by file locks."""

import asyncio
import fcntl
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

WAIT = 0.02  # seconds between two looks for a free slot


def _taken(folder: Path, most: int) -> int | None:
    """Return the open file of a free slot, or None if all are taken."""
    first = random.randrange(most)
    for number in range(most):
        slot = os.open(folder / str((first + number) % most), os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(slot)
        else:
            return slot
    return None


@asynccontextmanager
async def one_slot(folder: Path, most: int) -> AsyncIterator[None]:
    """Hold one of `most` slots; the slots of a process that dies become free."""
    folder.mkdir(parents=True, exist_ok=True)
    while (slot := _taken(folder, most)) is None:
        await asyncio.sleep(WAIT)
    try:
        yield
    finally:
        os.close(slot)
