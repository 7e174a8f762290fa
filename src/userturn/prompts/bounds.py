"""Limits of time and memory for code from a model's repository: its chat template."""

import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

LONGEST = 20.0  # seconds that one rendering may take; real ones take milliseconds
N_BYTES = 2**30  # by which the process may grow
PAGES = Path("/proc/self/statm")


class TooMuchError(Exception):
    """A rendering that took too long."""


@contextmanager
def bounded(seconds: float = LONGEST, n_bytes: int = N_BYTES) -> Iterator[None]:
    """End the block with an error if it takes too long or too much memory.

    A signal interrupts it, so outside the main thread there is no time limit. Where the system does
    not report the size of the process, there is no memory limit.

    Raises:
        TooMuchError: the block took too long.
        MemoryError: the block asked for too much memory.
    """
    with _limit_memory(n_bytes), _limit_time(seconds):
        yield


@contextmanager
def _limit_time(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise TooMuchError(f"it took more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _limit_memory(n_bytes: int) -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(PAGES.read_text().split()[0]) * resource.getpagesize()
    most = size + n_bytes
    limits = [limit for limit in (most, soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
