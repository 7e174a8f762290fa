"""What a terminal shows while a command is at work, and where an engine's own words go."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from threading import Timer
from typing import Literal

from userturn.errors import cache_folder
from userturn.logs import beside
from userturn.wording import show_unseen

AFTER = 2.0  # seconds until a command says that it is at work
_ends: list[Callable[[], None]] = []  # each ends a line that is shown


@contextmanager
def show_progress(words: str, after: float = AFTER, with_prints: bool = True) -> Iterator[None]:
    """Show on a terminal, after some seconds, a line with what is at work and for how long.

    Nothing is shown if standard error is no terminal. With `with_prints`, Python's output meanwhile
    appears above the line, and otherwise goes where it went before.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    colours: Literal["standard"] | None = None if os.environ.get("NO_COLOR") else "standard"
    with os.fdopen(os.dup(sys.stderr.fileno()), "w") as terminal:
        line = Progress(
            *(SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()),
            console=Console(file=terminal, force_terminal=True, color_system=colours),
            transient=True,
            redirect_stdout=with_prints and sys.stdout.isatty(),
            redirect_stderr=with_prints,
        )
        line.add_task(show_unseen(words))
        timer = Timer(after, line.start)
        timer.daemon = True

        def end() -> None:
            timer.cancel()
            timer.join()
            line.stop()

        timer.start()
        _ends.append(end)
        try:
            yield
        finally:
            _ends.remove(end)
            end()


@contextmanager
def engine_log(command: str, words: str) -> Iterator[None]:
    """Send all output of this process and its children to the log of a command.

    Our own progress is also printed on standard error.
    """
    path = cache_folder() / "logs" / f"{command}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    for end in _ends:
        end()
    print(f"{words}; what its engine prints: {path}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    streams = os.dup(1), os.dup(2)

    def tell(line: str) -> None:
        os.write(streams[1], f"{line}\n".encode())

    with show_progress(words, 0, with_prints=False), path.open("w", buffering=1) as log:
        beside.append(tell)
        try:
            for number in (1, 2):
                os.dup2(log.fileno(), number)
            with redirect_stdout(log), redirect_stderr(log):
                yield
        finally:
            beside.remove(tell)
            for number, own in zip((1, 2), streams, strict=True):
                os.dup2(own, number)
                os.close(own)
