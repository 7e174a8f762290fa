"""Prints digests of all tables and figures of a study: `python -m ... FOLDER REPEATS`.

One line a pass, JSON by name. Every pass makes each table and each figure as Vega-Lite. SVG and PNG
are drawn from the first, once in a process, as in a study: the ids inside an SVG count on from
picture to picture.
"""

import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.whole_study import inputs_in, whole_grid
from userturn.figures.confusion import draw_confusion
from userturn.figures.draw import draw_figures
from userturn.tables.make_tables import Material, make_tables
from userturn.workflow.registry import TABLES, figures_of

DRAWN = figures_of("draw_figures")


def write_all(folder: Path, made: Path, endings: Sequence[str]) -> None:
    """Write the tables of a study as its rules do, and its figures as files with these endings."""
    grid, inputs = whole_grid(folder), inputs_in(folder)
    tables = {n: [f"{made}/{n}{ending}" for ending in TABLES[n].formats] for n in TABLES}
    make_tables(Material(grid, inputs), "identity", tables)
    figures = {name: [f"{made}/{name}{end}" for end in endings] for name in DRAWN}
    confusion = [f"{made}/confusion{end}" for end in endings]
    draw_figures(grid, "identity", {n: paths[0] for n, paths in tables.items()}, figures)
    draw_confusion("identity", f"{made}/confusion.parquet", inputs["rubric"][0], confusion)


def digests(folder: Path, endings: Sequence[str]) -> dict[str, str]:
    """Return a digest of each file, by its name."""
    with TemporaryDirectory() as made:
        write_all(folder, Path(made), endings)
        files = sorted(Path(made).iterdir())
        return {path.name: sha256(path.read_bytes()).hexdigest()[:12] for path in files}


if __name__ == "__main__":
    for number in range(int(sys.argv[2])):
        endings = (".vl.json", ".svg", ".png") if number == 0 else (".vl.json",)
        print(json.dumps(digests(Path(sys.argv[1]), endings)))
