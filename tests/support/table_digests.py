"""Prints digests of all tables and figures of a study: `python -m ... FOLDER REPEATS`.

One line a pass, JSON by name. What takes seconds is made in the first passes alone, and figures
once in a process, as in a study: the ids inside an SVG count on from picture to picture.
"""

import json
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.whole_study import inputs_in, whole_grid
from userturn.figures.confusion import draw_confusion
from userturn.figures.draw import draw_figures
from userturn.tables.material import Material, make_tables
from userturn.workflow.registry import FIGURES, TABLES

# One is counted from accounts beside journals, the other from texts alone.
NO_VERDICTS = {"costs", "training_overlap"}
SLOW = {"agreement", "corrected_rates"}
SLOW_PASSES = 3


def write_all(folder: Path, made: Path, slow: bool, drawn: bool) -> None:
    """Write the tables and figures of a study as its rules do."""
    grid, inputs = whole_grid(), inputs_in(folder)
    names = [name for name in TABLES if name not in NO_VERDICTS and (slow or name not in SLOW)]
    tables = {n: [f"{made}/{n}{ending}" for ending in TABLES[n].formats] for n in names}
    make_tables(Material(grid, inputs), "identity", tables)
    if drawn:
        figures = {n: [f"{made}/{n}{end}" for end in (".vl.json", ".svg", ".png")] for n in FIGURES}
        confusion = figures.pop("confusion")
        draw_figures(grid, "identity", {n: paths[0] for n, paths in tables.items()}, figures)
        draw_confusion("identity", f"{made}/confusion.parquet", inputs["rubric"][0], confusion)


def digests(folder: Path, slow: bool, drawn: bool) -> dict[str, str]:
    """Return a digest of each file, by its name."""
    with TemporaryDirectory() as made:
        write_all(folder, Path(made), slow, drawn)
        files = sorted(Path(made).iterdir())
        return {path.name: sha256(path.read_bytes()).hexdigest()[:12] for path in files}


if __name__ == "__main__":
    for number in range(int(sys.argv[2])):
        print(json.dumps(digests(Path(sys.argv[1]), number < SLOW_PASSES, number == 0)))
