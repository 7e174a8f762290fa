"""Work that may hang, run in separate processes, each piece within a time limit."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

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
