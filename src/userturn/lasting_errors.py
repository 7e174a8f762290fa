"""Errors that every attempt at a job would meet: noted until the next run of Snakemake.

Snakemake retries a job without knowing why it failed. A job that finds a note ends at once, and the
driver asks no GPU for it.
"""

import shutil
from pathlib import Path

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
