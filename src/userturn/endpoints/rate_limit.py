"""Adaptive concurrency: more questions in flight while latency holds, half on a rate limit."""

import asyncio
import random
import time
from dataclasses import dataclass

FIRST_LIMIT = 4.0
SLOW = 2.0  # times the usual latency


@dataclass
class Pace:
    """The limit on questions in flight: grows while latency holds, halves on a rate limit.

    Attributes:
        most: the largest value of the limit.
        limit: the current limit.
        pause_until: no request is sent before this time.
    """

    most: int
    limit: float = FIRST_LIMIT
    pause_until: float = 0.0
    _usual: float = 0.0
    _was_slowed: bool = False
    _last_cut: float = 0.0

    def __post_init__(self) -> None:
        """Start at or below `most`."""
        self.limit = min(self.limit, float(self.most))

    def answered(self, latency: float) -> None:
        """Grow by one for each reply, or after a slowdown for each round of replies."""
        self._usual = latency if self._usual == 0 else 0.95 * self._usual + 0.05 * latency
        if latency <= SLOW * self._usual:
            step = 1 / self.limit if self._was_slowed else 1.0
            self.limit = min(float(self.most), self.limit + step)

    def slowed(self, retry_after: float = 0.0) -> None:
        """Halve, once for all questions that were in flight together, and pause if asked."""
        now = time.monotonic()
        self.pause_until = max(self.pause_until, now + retry_after)
        if now - self._last_cut > self._usual:
            self._last_cut, self._was_slowed = now, True
            self.limit = max(1.0, self.limit / 2)

    async def pause(self) -> None:
        """Wait until the pause is over, a little longer for each waiting question."""
        while (left := self.pause_until - time.monotonic()) > 0:
            await asyncio.sleep(left + random.uniform(0, 0.1 * left))
