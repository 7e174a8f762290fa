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
from userturn.tables.make_tables import Material, make_tables
from userturn.workflow.registry import TABLES, figures_of

# What applies to every study, but for costs, which are counted from accounts beside journals.
MADE = [name for name, table in TABLES.items() if table.needs is None and name != "costs"]
DRAWN = figures_of("draw_figures")
SLOW = {"agreement", "corrected_rates"}
SLOW_PASSES = 2


def write_all(folder: Path, made: Path, slow: bool, drawn: bool) -> None:
    """Write the tables and figures of a study as its rules do."""
    grid, inputs = whole_grid(), inputs_in(folder)
    names = [name for name in MADE if slow or name not in SLOW]
    tables = {n: [f"{made}/{n}{ending}" for ending in TABLES[n].formats] for n in names}
    make_tables(Material(grid, inputs), "identity", tables)
    if drawn:
        endings = (".vl.json", ".svg", ".png")
        figures = {name: [f"{made}/{name}{end}" for end in endings] for name in DRAWN}
        confusion = [f"{made}/confusion{end}" for end in endings]
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
