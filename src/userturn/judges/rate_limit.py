"""How fast an endpoint is asked: more while latency holds, half when told to slow down."""

import asyncio
import random
import time
from dataclasses import dataclass

FIRST_LIMIT = 4.0
SLOW = 2.0  # times the usual latency


@dataclass
class Pace:
    """How many questions are in flight: grows while latency holds, halves when told to slow down.

    Attributes:
        most: the limit's own limit.
        limit: questions in flight at once, as of now.
        pause_until: no request is sent before this time.
    """

    most: int
    limit: float = FIRST_LIMIT
    pause_until: float = 0.0
    _usual: float = 0.0
    _was_slowed: bool = False
    _last_cut: float = 0.0

    def __post_init__(self) -> None:
        """Begin within the limit."""
        self.limit = min(self.limit, float(self.most))

    def answered(self, latency: float) -> None:
        """Grow by one for each reply, or for each round of replies once it was slowed."""
        self._usual = latency if self._usual == 0 else 0.95 * self._usual + 0.05 * latency
        if latency <= SLOW * self._usual:
            step = 1 / self.limit if self._was_slowed else 1.0
            self.limit = min(float(self.most), self.limit + step)

    def slowed(self, retry_after: float = 0.0) -> None:
        """Halve, once for all that were in flight together, and pause as long as asked."""
        now = time.monotonic()
        self.pause_until = max(self.pause_until, now + retry_after)
        if now - self._last_cut > self._usual:
            self._last_cut, self._was_slowed = now, True
            self.limit = max(1.0, self.limit / 2)

    async def pause(self) -> None:
        """Wait until the endpoint wants to hear again, a little more for each who waits."""
        while (left := self.pause_until - time.monotonic()) > 0:
            await asyncio.sleep(left + random.uniform(0, 0.1 * left))
