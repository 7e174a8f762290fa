"""Limits on the requests in flight, by latency and rate limits and by slots of this machine."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from userturn.storage.files import lock

FIRST_LIMIT = 4.0
SLOW = 2.0  # times the usual latency


@dataclass
class Pace:
    """The limit on questions in flight, which grows while latency holds and halves if slowed.

    Attributes:
        pause_until: no request is sent before this time.
    """

    most: int
    limit: float = FIRST_LIMIT
    pause_until: float = 0.0
    _usual: float = 0.0
    _was_slowed: bool = False
    _last_cut: float = 0.0

    def __post_init__(self) -> None:
        """Set the first limit to `most` or less."""
        self.limit = min(self.limit, float(self.most))

    def answered(self, latency: float) -> None:
        """Raise the limit, if latency holds: by one per reply or, once slowed, per round."""
        self._usual = latency if self._usual == 0 else 0.95 * self._usual + 0.05 * latency
        if latency <= SLOW * self._usual:
            step = 1 / self.limit if self._was_slowed else 1.0
            self.limit = min(float(self.most), self.limit + step)

    def slowed(self, retry_after: float = 0.0) -> None:
        """Halve the limit, once for all questions in flight together, and pause if asked to."""
        now = time.monotonic()
        self.pause_until = max(self.pause_until, now + retry_after)
        if now - self._last_cut > self._usual:
            self._last_cut, self._was_slowed = now, True
            self.limit = max(1.0, self.limit / 2)

    async def pause(self) -> None:
        """Wait until the pause is over, and a random time more so that questions spread."""
        while (left := self.pause_until - time.monotonic()) > 0:
            await asyncio.sleep(left + random.uniform(0, 0.1 * left))


WAIT = 0.02  # seconds between two looks for a free slot
# Slots that this process gave back, by folder and number of slots: they are likely free.
_freed: dict[tuple[str, int], list[int]] = {}


def _open(folder: str, number: int) -> int:
    path = f"{folder}/{number}"
    try:
        return os.open(path, os.O_CREAT | os.O_RDWR)
    except FileNotFoundError:  # the folder is not there yet, or not any more
        Path(folder).mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_CREAT | os.O_RDWR)


def _take_slot(folder: str, most: int) -> tuple[int, int] | None:
    """Return (number, open file) of a slot that was free, or None if all are taken."""
    likely, first = _freed.setdefault((folder, most), []), random.randrange(most)
    any_other = ((first + number) % most for number in range(most))
    for number in chain([likely.pop()] if likely else [], any_other):
        slot = _open(folder, number)
        if lock(slot, Path(folder), waits=False):
            return number, slot
        os.close(slot)
    return None


@asynccontextmanager
async def one_slot(folder: Path, most: int) -> AsyncIterator[None]:
    """Hold one of `most` slots, which becomes free when its process dies."""
    name = str(folder)
    while (acquired := _take_slot(name, most)) is None:
        await asyncio.sleep(WAIT)
    number, slot = acquired
    try:
        yield
    finally:
        os.close(slot)
        _freed[name, most].append(number)
