"""All that is in a folder; `Path.rglob` passes over folders that may not be read."""

import os
from itertools import chain
from pathlib import Path


def paths_below(folder: Path) -> list[Path]:
    """Return all files and folders below a folder, sorted; links to folders are not followed.

    Raises:
        OSError: a folder may not be read.
    """
    below = os.walk(folder, onerror=_tell)
    return sorted(Path(here, name) for here, *names in below for name in chain(*names))


def _tell(error: OSError) -> None:
    raise error
