"""Prints digests of all tables and figures of a study: `python -m ... FOLDER REPEATS`.

One line a pass, JSON by name. Every pass makes each table as Parquet. Figures and printed tables
follow from these and are made in the first alone, once in a process, as in a study: the ids inside
an SVG count on from picture to picture.
"""

import json
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.whole_study import inputs_in, made_of_cells, whole_grid
from userturn.figures.confusion import draw_confusion
from userturn.figures.draw import draw_figures
from userturn.tables.make_tables import make_tables
from userturn.workflow.registry import FIGURES, TABLES

PICTURES = (".vl.json", ".svg", ".png")
DRAWN = [name for name in made_of_cells(FIGURES) if name != "confusion"]


def write_all(folder: Path, made: Path, endings: tuple[str, ...]) -> None:
    """Write the tables of a study as its rules do, and its figures in some formats.

    With figures in all formats, tables are written in all of theirs.
    """
    grid, inputs = whole_grid(folder), inputs_in(folder)
    tables = {
        name: [f"{made}/{name}{end}" for end in TABLES[name].formats]
        if endings == PICTURES
        else [f"{made}/{name}.parquet"]
        for name in made_of_cells(TABLES)
    }
    make_tables(grid, "identity", inputs, tables)
    if not endings:
        return
    figures = {name: [f"{made}/{name}{end}" for end in endings] for name in DRAWN}
    confusion = [f"{made}/confusion{end}" for end in endings]
    draw_figures(grid, "identity", tables, figures)
    draw_confusion("identity", f"{made}/confusion.parquet", inputs["rubric"][0], confusion)


def digests(folder: Path, endings: tuple[str, ...]) -> dict[str, str]:
    """Return a digest of each file, by its name."""
    with TemporaryDirectory() as made:
        write_all(folder, Path(made), endings)
        files = sorted(Path(made).iterdir())
        return {path.name: sha256(path.read_bytes()).hexdigest()[:12] for path in files}


if __name__ == "__main__":
    for number in range(int(sys.argv[2])):
        print(json.dumps(digests(Path(sys.argv[1]), () if number else PICTURES)))
