"""Prints digests of all tables and figures of a study: `python -m ... FOLDER REPEATS`.

One line a pass, JSON by name. What takes seconds is made in the first passes alone, and pictures
once in a process, as in a study: the ids inside an SVG count on from picture to picture.
"""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl

from tests.support.whole_study import inputs_in, whole_grid
from userturn.figures.confusion import confusion_figure
from userturn.tables.material import Material
from userturn.workflow.registry import FIGURES, TABLES

# One is counted from accounts beside journals, the other from texts alone.
NO_VERDICTS = {"costs", "training_overlap"}
SLOW = {"agreement", "corrected_rates"}  # and figures
SLOW_PASSES = 3


def figures_of(tables: dict[str, pl.DataFrame], labels: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield every figure, by the first judge, as its rules draw it."""
    shown = {
        name: table.filter(pl.col("judge") == "heuristic") if "judge" in table.columns else table
        for name, table in tables.items()
    }
    for name, figure in FIGURES.items():
        if name == "confusion":
            yield name, confusion_figure(tables["confusion"], labels)
        else:
            draw = getattr(import_module(f"userturn.figures.{name}"), name)
            yield name, draw(*(shown[t] for t in figure.tables), shown["families"], "heuristic")


def contents(folder: Path, all_of_them: bool, pictures: bool) -> Iterator[tuple[str, str]]:
    """Yield what is written of each table and figure, by its name."""
    material = Material(whole_grid(), inputs_in(folder))
    made = [n for n in TABLES if n not in NO_VERDICTS and (all_of_them or n not in SLOW)]
    tables = {name: material.table(name) for name in made}
    for name, table in tables.items():
        yield f"{name}.csv", table.write_csv()
        printed = getattr(import_module(f"userturn.tables.{name}"), "printed", None)
        if printed is not None:
            yield f"{name}.md", printed(table).write_csv()
    if all_of_them:
        for name, chart in figures_of(tables, list(material.rubric.labels)):
            yield f"{name}.vl.json", chart.to_json()
            if pictures:
                picture = StringIO()
                chart.save(picture, format="svg")
                yield f"{name}.svg", picture.getvalue()


if __name__ == "__main__":
    for number in range(int(sys.argv[2])):
        found = contents(Path(sys.argv[1]), number < SLOW_PASSES, number == 0)
        print(json.dumps({n: sha256(text.encode()).hexdigest()[:12] for n, text in found}))
