"""What a process obeys: signals to stop, a time limit for work that may hang, and no network.

Python reports each connection before it is made (`sys.addaudithook`). It does not see programs that
are started, nor code that is not Python's. So pictures are drawn with an empty list of addresses
(html/chart.py), and graded programs run in a sandbox without a network.
"""

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

from userturn.errors import UserError

END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
STOP_SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
Argument = TypeVar("Argument")
Result = TypeVar("Result")
_most_overdue: ContextVar[float] = ContextVar("most_overdue", default=float("inf"))
TO_ADDRESS = ("socket.connect", "socket.sendto", "socket.sendmsg")  # their second argument
BY_NAME = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
_guards: list[object] = []  # active guards
_is_installed: list[bool] = []


@dataclass
class StopFlag:
    """A request to stop, from a signal or a lost lease, read between two steps of the engine."""

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
    """Have SIGTERM sent to this process when its parent ends in any way, on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGTERM)


@contextmanager
def limit_overdue(n: int) -> Iterator[None]:
    """Let `map_bounded` raise TimeoutError, within this context, once `n` calls took too long."""
    before = _most_overdue.set(n)
    try:
        yield
    finally:
        _most_overdue.reset(before)


def _ready() -> None:
    """Do nothing. When the call returns, a process has started."""


def map_bounded(
    function: Callable[[Argument], Result],
    arguments: Sequence[Argument],
    n_processes: int,
    seconds: float,
    load: Callable[[], object] | None = None,
) -> list[Result | None]:
    """Return a function's results for all arguments, None for each that took too long.

    The function itself never returns None. A process that hangs, even in C code, or dies is ended,
    and unfinished work of the others is started again. Every process first calls `load`, outside
    the time limit. Arguments are taken in order, so the one waited for is always being worked on,
    and time in the queue does not count.

    Raises:
        TimeoutError: more took too long than `limit_overdue` says.
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


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not _guards or event not in (*TO_ADDRESS, *BY_NAME):
        return
    address = arguments[0] if event in BY_NAME else arguments[1]
    if event in TO_ADDRESS and not isinstance(address, tuple):
        return  # a Unix socket, between processes of one machine
    raise UserError(
        f"something asked for '{address}', which was refused: nothing is sent without a model or "
        "judge that you ask for; run it with the project's newest version, and report this"
    )


def forbid_network() -> None:
    """Refuse all network connections that Python makes, for the rest of this process."""
    if not _is_installed:
        sys.addaudithook(_refuse)
        _is_installed.append(True)
    _guards.append(_refuse)


@contextmanager
def block_network() -> Iterator[None]:
    """Refuse all network connections that Python makes within a block."""
    forbid_network()
    try:
        yield
    finally:
        _guards.pop()
