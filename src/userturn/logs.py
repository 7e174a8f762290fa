"""Where a script's output goes: all of it to its log, progress and errors also to the terminal."""

import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from userturn.errors import sentence
from userturn.wording import show_unseen

beside: list[Callable[[str], object]] = []
"""Functions that each line is also given to, such as the terminal when output goes to a log."""


def log_to(path: str | Path) -> None:
    """Send all output of this process and its children to `path`, and shorten expected errors."""
    terminal = os.dup(2)
    beside.append(lambda line: os.write(terminal, f"{line}\n".encode()))
    with Path(path).open("w", buffering=1) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.excepthook = _report


def say(line: str) -> None:
    """Print one line to the log and to the terminal."""
    shown = show_unseen(line)
    print(shown, flush=True)
    for tell in beside:
        tell(shown)


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    message = sentence(error)
    if message is None:
        traceback.print_exception(kind, error, trace)
    say(f"error: {message or f'{kind.__name__}: {error}'}")


RAREST = 300.0  # seconds between two lines of progress


class Progress:
    """Lines that say how many requests are done, how fast, and how long the rest will take.

    They come after 10, 20, 40 ... seconds, and at least every five minutes. Requests without
    tokens, such as those to judges, have no speed in tokens.
    """

    def __init__(self, stage: str, n_requests: int, first: float = 10.0) -> None:
        """Begin a stage of `n_requests` requests, with its first line after `first` seconds."""
        self.stage, self.n_requests, self.every = stage, n_requests, first
        self.n_done = self.n_tokens = 0
        self.began = self.spoken = time.monotonic()

    def add(self, n_tokens: int) -> None:
        """Count one finished request, and report progress if it is time to."""
        self.n_done += 1
        self.n_tokens += n_tokens
        now = time.monotonic()
        if now - self.spoken >= self.every or self.n_done == self.n_requests:
            self.every, self.spoken = min(max(self.every, now - self.began), RAREST), now
            say(self.line(now - self.began))

    def line(self, seconds: float) -> str:
        """Return one line of progress after a number of seconds."""
        left = seconds / self.n_done * (self.n_requests - self.n_done)
        speed = f"{self.n_tokens / max(seconds, 1e-9):.0f} tokens/s, " if self.n_tokens else ""
        done = f"{self.stage}: {self.n_done}/{self.n_requests} requests"
        return f"{done}, {speed}{left:.0f} s left"
