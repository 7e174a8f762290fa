"""What a grid is asked in a process of its own, since Snakemake's process loads no tables.

An answer is kept beside Snakemake's own notes until what it depends on changes; that file may be
deleted at any time.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from userturn.logs import say
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.study.inputs import FileContents, RecordedContents

NOTES = Path(".snakemake", "userturn")


def asked_elsewhere(module: str, grid: Grid, given: Mapping[str, Any], state: Any) -> Any:
    """Return what a module answers about a grid, or None if it ended in an error.

    Args:
        module: name of a module that can be run: JSON in (`read_grid`), JSON out.
        grid: the grid.
        given: what else the module is given.
        state: everything else that the answer depends on.
    """
    kept = NOTES / f"{module.rpartition('.')[2]}.json"
    made_of = fingerprint([grid.config, given, state])
    known = _read(kept)
    if known.get("made_of") == made_of:
        return known["answer"]
    answer = _ask(module, grid, given)
    if answer is not None and NOTES.parent.is_dir():
        NOTES.mkdir(exist_ok=True)
        kept.write_text(json.dumps({"made_of": made_of, "answer": answer}))
    return answer


def _read(kept: Path) -> dict[str, Any]:
    try:
        known = json.loads(kept.read_text())
        return known if isinstance(known, dict) else {}
    except (OSError, ValueError):
        return {}


def _ask(module: str, grid: Grid, given: Mapping[str, Any]) -> Any:
    contents = grid.contents
    recorded = asdict(contents) if isinstance(contents, RecordedContents) else None
    told = {"config": grid.config, "results": str(grid.results), "contents": recorded}
    done = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps(told | dict(given)),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        say(f"what this run asks is not known ({last}); its jobs look for themselves")
        return None
    return json.loads(done.stdout)


def read_grid(told: Mapping[str, Any]) -> Grid:
    """Return the grid that a process was told on its standard input."""
    config, results, contents = told["config"], told["results"], told["contents"]
    known = FileContents(config, results) if contents is None else RecordedContents(**contents)
    return Grid(config, results, known)


def states(paths: list[Path]) -> list[list[Any]]:
    """Return path, size and time of each file."""
    known = ((path, path.stat()) for path in paths)
    return [[str(path), now.st_size, now.st_mtime_ns] for path, now in known]
