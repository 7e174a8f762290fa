"""Errors that the user can fix: the message says how; and those that every attempt would meet.

Snakemake retries a job without knowing why it failed. Why a job would fail again is noted until the
next run: one that finds a note ends at once, and the driver asks no GPU for it.
"""

import shutil
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class UserError(Exception):
    """Bad input in one sentence: what is wrong, what was found, what was expected, what to do.

    Attributes:
        stays: whether another attempt at the same job would meet it too.
    """

    stays: bool = False


class NoRoomError(Exception):
    """Where a command writes is full or read-only: nothing is wrong with what it reads."""


class ConfigError(UserError):
    """A configuration that cannot be run."""

    stays = True


def near_miss(name: str, known: Iterable[str]) -> str:
    """Return ", did you mean 'x'?" for the known name most like `name`, else the known names."""
    known = sorted(known)
    match = get_close_matches(name, known, n=1, cutoff=0.6)
    if match:
        return f", did you mean '{match[0]}'?"
    return f"; expected one of: {', '.join(known)}" if known else ""


def check_known(where: str, name: str, known: Iterable[str], kind: str) -> None:
    """Check that a name at a place of the configuration is known: that it "is <kind>"."""
    if name not in (known := list(known)):
        raise ConfigError(f"{where}: '{name}' is {kind}{near_miss(name, known)}")


NOTES = Path("logs", "not_retried")


def _note(log: str | Path) -> Path:
    return (NOTES / Path(log).relative_to("logs")).with_suffix(".txt")


def note_error(log: str | Path, sentence: str) -> None:
    """Note why the job with a log would fail again; without effect where nothing can be written."""
    try:
        _note(log).parent.mkdir(parents=True, exist_ok=True)
        _note(log).write_text(sentence, "utf-8")
    except OSError:
        return


def noted_error(log: str | Path) -> str | None:
    """Return why the job with a log would fail again, or None."""
    try:
        return _note(log).read_text("utf-8") or None  # empty: the disk was full
    except OSError:
        return None


def forget_errors() -> None:
    """Forget all notes: a new run tries every job."""
    shutil.rmtree(NOTES, ignore_errors=True)
