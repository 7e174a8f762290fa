"""Sweeps the tiny study of this folder: `python -m ... N` is killed by SIGKILL after N replies."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from userturn.config.load import load_config
from userturn.generation.sweep import run_sweep
from userturn.models.engine import LOADERS
from userturn.models.requests import AnyRequest, Completion, Engine
from userturn.models.transformers import load_transformers
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending


def dying(engine: Engine, n: int) -> Engine:
    """Return an engine whose process is killed when it is asked for the reply after `n`."""

    def generate(asked: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion] | None]:
        n_left = n
        for finished in engine(asked):
            if not n_left:
                os.kill(os.getpid(), signal.SIGKILL)
            n_left -= finished is not None
            yield finished

    return generate


def main(n: int | None) -> None:
    """Sweep to the end, or until the kill."""

    def load(*given: Any) -> Engine:
        return dying(load_transformers(*given), n)

    if n is not None:
        LOADERS["transformers"] = load
    grid = Grid(load_config(["config.yaml", "study.yaml"]))
    run_sweep(grid, "tiny", "1of1", Pending(grid).identities("tiny"), 1, "marker.json")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else None)
