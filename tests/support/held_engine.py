"""An engine held by a file: a test says how far a sweep comes, not its speed.

`hold_engines` makes a folder for PYTHONPATH. In every Python below it, a sweep stops after as many
completions as the file `allowed` in its working folder says, and goes on when that file is gone.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from userturn.models import engine
from userturn.models.requests import AnyRequest, Completion, Engine
from userturn.models.transformers import load_transformers

ALLOWED = Path("allowed")
AT_START = "from tests.support import held_engine\nheld_engine.install()\n"


def hold_engines(folder: Path, root: Path, at_start: str = AT_START) -> dict[str, str]:
    """Write what Python runs at its start, and return the environment that makes it do so.

    Args:
        folder: folder to make.
        root: the project's.
        at_start: what replaces the engine.
    """
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(at_start)
    return {"PYTHONPATH": f"{folder}:{root}/src:{root}"}


def install() -> None:
    """Replace the engine in this process."""
    engine.LOADERS["transformers"] = load


def _n_allowed() -> float:
    try:
        return int(ALLOWED.read_text())
    except (FileNotFoundError, ValueError):  # gone, or just being written
        return float("inf")


def load(folder: Path, settings: Mapping[str, Any]) -> Engine:
    """Load the engine and return it, held."""
    return held(load_transformers(folder, settings))


def held(complete: Engine) -> Engine:
    """Return an engine that stops where the file says."""
    n_done = 0

    def pausing(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion] | None]:
        nonlocal n_done
        for finished in complete(requests):
            yield finished
            n_done += finished is not None  # None after each step
            while n_done >= _n_allowed():
                time.sleep(0.1)
                yield None

    return pausing
