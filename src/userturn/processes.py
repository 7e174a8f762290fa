"""Signals as requests to stop, and work that may hang, each piece within a time limit."""

import ctypes
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
STOP_SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)


@dataclass
class StopFlag:
    """Set by a signal or by the loss of a lease, read between two steps of the engine."""

    reason: str | None = None

    def listen(self) -> None:
        """Treat SIGTERM, SIGUSR1 and SIGINT as a request to stop soon, without losing anything."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._set)

    def set(self, reason: str) -> None:
        """Request a stop, for a reason that completes "stopped by"."""
        self.reason = reason

    def _set(self, number: int, frame: FrameType | None) -> None:
        self.set(signal.Signals(number).name)


def let_early_warning_pass() -> None:
    """Ignore SIGUSR1, which would end a job's Snakemake and with it the sweep that is stopping.

    SLURM sends it to every process of a job step if `--signal=USR1@120` is set.
    """
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def end_with_parent() -> None:
    """Have SIGTERM sent to this process when its parent ends in any way; on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGTERM)


Argument = TypeVar("Argument")
Result = TypeVar("Result")
_most_overdue: ContextVar[float] = ContextVar("most_overdue", default=float("inf"))


@contextmanager
def at_most_overdue(n: int) -> Iterator[None]:
    """Let `map_bounded` raise TimeoutError, within this context, once `n` pieces took too long."""
    before = _most_overdue.set(n)
    try:
        yield
    finally:
        _most_overdue.reset(before)


def _ready() -> None:
    """Do nothing: when this returns, a process has started."""


def map_bounded(
    function: Callable[[Argument], Result],
    arguments: Sequence[Argument],
    n_processes: int,
    seconds: float,
    load: Callable[[], object] | None = None,
) -> list[Result | None]:
    """Apply a function that never returns None to all arguments; None if it took too long.

    A process that hangs, even in C code, or dies is ended, and unfinished work of the others is
    started again. Every process first calls `load`, outside the time limit. Arguments are taken
    in order, so the one waited for is always being worked on: time in the queue does not count.

    Raises:
        TimeoutError: more took too long than `at_most_overdue` says.
    """
    results: list[Result | None] = []
    while len(results) < len(arguments):
        context = multiprocessing.get_context("spawn")
        with context.Pool(min(n_processes, len(arguments) - len(results)), load) as pool:
            pool.apply_async(_ready).get()
            waiting: list[Any] = [
                pool.apply_async(function, (argument,)) for argument in arguments[len(results) :]
            ]
            for pending in waiting:
                try:
                    results.append(pending.get(seconds))
                except multiprocessing.TimeoutError:
                    results.append(None)
                    break
        if results.count(None) >= _most_overdue.get():
            raise TimeoutError(f"{results.count(None)} took more than {seconds:g} s each")
    return results
