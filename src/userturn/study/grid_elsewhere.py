"""Functions of a grid that run in another process, since Snakemake's process loads no tables.

A result is kept beside Snakemake's own notes until what it depends on changes. Its file may be
deleted at any time.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from userturn.config.load import NOTES
from userturn.logs import say
from userturn.storage.hashing import fingerprint
from userturn.study.contents import FileContents, RecordedContents
from userturn.study.grid import Grid


def asked_elsewhere(function: str, grid: Grid, arguments: Mapping[str, Any], state: Any) -> Any:
    """Return the result of a function of a grid, or None if it ended in an error.

    Args:
        function: dotted name of a function of the grid and `arguments`, whose result JSON can hold.
        grid: the grid.
        arguments: further arguments by name, as JSON can hold them.
        state: everything else that the result depends on.
    """
    note = NOTES / f"{function.rpartition('.')[2]}.json"
    inputs_hash = fingerprint([grid.config, arguments, state])
    noted = _read(note)
    if noted.get("made_of") == inputs_hash:
        return noted["answer"]
    answer = _ask(function, grid, arguments)
    if answer is not None and NOTES.parent.is_dir():
        NOTES.mkdir(exist_ok=True)
        note.write_text(json.dumps({"made_of": inputs_hash, "answer": answer}))
    return answer


def _read(note: Path) -> dict[str, Any]:
    try:
        noted = json.loads(note.read_text())
        return noted if isinstance(noted, dict) else {}
    except (OSError, ValueError):
        return {}


def _ask(function: str, grid: Grid, arguments: Mapping[str, Any]) -> Any:
    contents = grid.contents
    recorded = asdict(contents) if isinstance(contents, RecordedContents) else None
    told = {"config": grid.config, "results": str(grid.results), "contents": recorded}
    done = subprocess.run(
        [sys.executable, "-m", "userturn.study.grid_elsewhere"],
        input=json.dumps({"function": function, "grid": told, "given": arguments}),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        say(f"what this run asks is not known ({last}); its jobs look for themselves")
        return None
    return json.loads(done.stdout)


def main() -> None:
    """Read a function, a grid and arguments as JSON from standard input, and write the result."""
    told = json.load(sys.stdin)
    config, results, contents = (told["grid"][key] for key in ("config", "results", "contents"))
    inputs = FileContents(config, results) if contents is None else RecordedContents(**contents)
    module, _, name = told["function"].rpartition(".")
    with redirect_stdout(sys.stderr):
        function = getattr(import_module(module), name)
        answer = function(Grid(config, results, inputs), **told["given"])
    json.dump(answer, sys.stdout)


def states(paths: list[Path]) -> list[list[Any]]:
    """Return path, size and modification time (ns) of each file."""
    files = ((path, path.stat()) for path in paths)
    return [[str(path), now.st_size, now.st_mtime_ns] for path, now in files]


if __name__ == "__main__":
    main()
