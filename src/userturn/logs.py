"""Where a script's output goes: all of it to its log, progress and errors also to the terminal."""

import errno
import os
import sys
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from userturn.disk_space import full_folders, is_full_disk
from userturn.errors import NoRoomError, UserError
from userturn.wording import show_unseen

terminal = 2
NOWHERE = "no folder that a run uses, so it is a quota or another disk: see `quota` and `df`"


def log_to(path: str | Path) -> None:
    """Send all that this process and its children print to `path`; shorten expected errors."""
    global terminal
    terminal = os.dup(2)
    with Path(path).open("w", buffering=1) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.excepthook = _report


def say(line: str) -> None:
    """Print one line to the log and to the terminal."""
    shown = show_unseen(line)
    print(shown, flush=True)
    if terminal != 2:
        os.write(terminal, f"{shown}\n".encode())


def sentence(error: BaseException, named: Iterable[Path] = ()) -> str | None:
    """Return an error that the user can fix as one sentence, or None for any other.

    Args:
        error: what was raised.
        named: files and folders that the user's command named; one may be on a full disk.
    """
    if isinstance(error, UserError | NoRoomError):
        return str(error)
    if is_full_disk(error):
        name = getattr(error, "filename", None)
        where = full_folders(named=named) or (f"'{Path(name).parent}'" if name else NOWHERE)
        return (
            f"the disk is full ({error}) in {where}: free some space and run the same "
            "command again; finished requests are kept in the journal"
        )
    if isinstance(error, MemoryError):
        return "it needs more memory than it may take: give it more, or ask less of it at once"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return (
            f"too many files are open ({error}): raise the limit in the shell that starts this, "
            "`ulimit -n 4096`, and run the same command again"
        )
    if _is_read_only(error):
        return (
            f"'{_named(error)}' is on a file system that is mounted for reading "
            "only: have it mounted for writing, or work in a copy of the project elsewhere"
        )
    if isinstance(error, PermissionError):
        return (
            f"'{_named(error)}' may not be read or written by you: change its owner or mode and "
            "run again"
        )
    if isinstance(error, NotADirectoryError | IsADirectoryError | FileExistsError):
        return f"'{error.filename}' is in the way ({error.strerror}): move it and run again"
    if str(error).startswith("parquet: "):  # of polars, which does not name the file
        return (
            f"a Parquet file is damaged ({error}); `userturn audit` of its results folder names it "
            "and the command that makes it again"
        )
    return None


def _named(error: BaseException) -> str:
    """Return the file of an error; Polars has it at the end of what it says."""
    return getattr(error, "filename", None) or str(error).rpartition(": ")[2]


def stays(error: BaseException) -> bool:
    """Return whether another attempt at the same job would meet an error too."""
    return (
        is_full_disk(error)
        or _is_read_only(error)
        or isinstance(error, PermissionError)
        or getattr(error, "stays", False)
    )


def _is_read_only(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EROFS


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    message = sentence(error)
    if message is None:
        traceback.print_exception(kind, error, trace)
    say(f"error: {message or f'{kind.__name__}: {error}'}")


class Progress:
    """Says every few seconds how many requests are done, how fast, and how long it will take.

    Requests without tokens, such as those to judges, have no speed in tokens.
    """

    def __init__(self, stage: str, n_requests: int, every: float = 5.0) -> None:
        """Begin a stage of `n_requests` requests."""
        self.stage, self.n_requests, self.every = stage, n_requests, every
        self.n_done = self.n_tokens = 0
        self.began = self.spoken = time.monotonic()

    def add(self, n_tokens: int) -> None:
        """Count one finished request, and report progress if it is time to."""
        self.n_done += 1
        self.n_tokens += n_tokens
        now = time.monotonic()
        if now - self.spoken >= self.every or self.n_done == self.n_requests:
            self.spoken = now
            say(self.line(now - self.began))

    def line(self, seconds: float) -> str:
        """Return progress after a number of seconds as one line."""
        left = seconds / self.n_done * (self.n_requests - self.n_done)
        speed = f"{self.n_tokens / max(seconds, 1e-9):.0f} tokens/s, " if self.n_tokens else ""
        done = f"{self.stage}: {self.n_done}/{self.n_requests} requests"
        return f"{done}, {speed}{left:.0f} s left"
