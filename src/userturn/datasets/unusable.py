"""Datasets whose content cannot be prepared: noted, so that the next run sweeps the others.

A sweep loads a model once for all datasets, and waits for each of them.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from userturn.errors import UserError

NOTES = Path("logs", "unusable_datasets")


def _note(dataset: str) -> Path:
    return NOTES / f"{dataset}.json"


@contextmanager
def noted_if_unusable(dataset: str, identity: str) -> Iterator[None]:
    """Note a dataset whose present content raises a `UserError` inside the block."""
    try:
        yield
    except UserError as error:
        with suppress(OSError):
            NOTES.mkdir(parents=True, exist_ok=True)
            note = {"identity": identity, "reason": str(error)}
            _note(dataset).write_text(json.dumps(note), "utf-8")
        raise
    _note(dataset).unlink(missing_ok=True)


def is_unusable(dataset: str, identity: str) -> bool:
    """Return whether a dataset was noted with the content that it has now."""
    try:
        return bool(json.loads(_note(dataset).read_text("utf-8"))["identity"] == identity)
    except (OSError, ValueError, LookupError, TypeError):
        return False
