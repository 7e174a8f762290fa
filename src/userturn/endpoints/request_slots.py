"""Limit the requests in flight to a judge over all its jobs on a machine, by file locks."""

import asyncio
import fcntl
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path

WAIT = 0.02  # seconds between two looks for a free slot
# Slots that this process gave back, by folder and number of slots: they are likely free.
_given_back: dict[tuple[str, int], list[int]] = {}


def _open(folder: str, number: int) -> int:
    path = f"{folder}/{number}"
    try:
        return os.open(path, os.O_CREAT | os.O_RDWR)
    except FileNotFoundError:  # the folder is not there yet, or not any more
        Path(folder).mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_CREAT | os.O_RDWR)


def _taken(folder: str, most: int) -> tuple[int, int] | None:
    """Return number and open file of a free slot, or None if all are taken."""
    likely, first = _given_back.setdefault((folder, most), []), random.randrange(most)
    any_other = ((first + number) % most for number in range(most))
    for number in chain([likely.pop()] if likely else [], any_other):
        slot = _open(folder, number)
        try:
            fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(slot)
        else:
            return number, slot
    return None


@asynccontextmanager
async def one_slot(folder: Path, most: int) -> AsyncIterator[None]:
    """Hold one of `most` slots; the slots of a process that dies become free."""
    place = str(folder)
    while (taken := _taken(place, most)) is None:
        await asyncio.sleep(WAIT)
    number, slot = taken
    try:
        yield
    finally:
        os.close(slot)
        _given_back[place, most].append(number)
