"""What the tables over all cells cost, by the number of cells: CPU-seconds and memory of a process.

From the project's folder: `python benchmarks/analysing.py 1 3 11`, in models of 75 cells each,
`--items` of each cell. Each study is made up (`tests/support/synthetic_study.py`).
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import polars as pl

from benchmarks.measuring import ROOT, cost_of
from tests.support.synthetic_study import (
    DATASETS,
    MODELS,
    PERTURBATIONS,
    RUBRIC,
    TEMPERATURES,
    write_study,
)
from userturn.config.load import load_config
from userturn.storage.table_files import ANSWER_KEYS, TURN_KEYS
from userturn.study.grid import Grid
from userturn.tables.make_tables import make_tables
from userturn.workflow.registry import TABLES, tables_of

RULES = ("analyse", "tabulate")
INPUTS = {
    "verdicts": "cells/*/*/*/*/verdicts/*.parquet",
    "user_turns": "cells/*/*/*/*/user_turns.parquet",
    "grades": "grades/*/*.parquet",
    "answers": "answers/*/*.parquet",
    **dict.fromkeys(("swapped_verdicts", "unswapped_verdicts"), "none"),
}
HEADER = """| rule | cells | turns | CPU s | MB | CPU s, times | MB, times | cells, times |
|---|---|---|---|---|---|---|---|"""


def write(folder: Path, models: Sequence[str], n_items: int) -> None:
    """Write a study of some models, with user turns and answers that say little."""
    verdicts, grades = write_study(folder, models, dict.fromkeys(DATASETS, n_items))
    for path in map(Path, verdicts):
        said = pl.format("Turn {} of {}?", "sample", "item")
        about = {"outcome": pl.lit("ok"), "finish_reason": pl.lit("stop"), "text": said}
        turns = pl.read_parquet(path).select(*TURN_KEYS, key="item", **about)
        turns.write_parquet(path.parent.parent / "user_turns.parquet")
    for path in map(Path, grades):
        answers = folder / "answers" / path.relative_to(folder / "grades")
        answers.parent.mkdir(parents=True, exist_ok=True)
        keys = pl.read_parquet(path, columns=ANSWER_KEYS)
        keys.with_columns(finish_reason=pl.lit("stop")).write_parquet(answers)


def grid_of(folder: Path) -> Grid:
    """Return the grid of a study that was written."""
    config = load_config([ROOT / "config.yaml"])
    models = sorted(path.name for path in (folder / "cells").iterdir())
    config["models"] = dict.fromkeys(models, "made/up")
    config["run"] = {
        "models": models,
        "datasets": list(DATASETS),
        "judges": ["heuristic"],
        "temperatures": list(TEMPERATURES),
        "perturbations": list(PERTURBATIONS),
    }
    return Grid(config, folder)


def make(folder: Path, rule: str) -> None:
    """Make the tables of a rule from a study."""
    inputs = {name: sorted(map(str, folder.glob(pattern))) for name, pattern in INPUTS.items()}
    outputs = {
        name: [str(folder / "tables" / f"{name}{ending}") for ending in TABLES[name].formats]
        for name in tables_of(rule)
    }
    make_tables(grid_of(folder), "made up", inputs | {"rubric": [RUBRIC]}, outputs)


def main(sizes: Sequence[int], n_items: int) -> None:
    """Print the costs of each rule for studies of so many models, and how they grow."""
    print(HEADER)
    first = dict[str, tuple[float, ...]]()
    for n_models in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            write(folder, MODELS[:n_models], n_items)
            n_cells = len(list(folder.glob("cells/*/*/*/*")))
            for rule in RULES:
                command = [sys.executable, __file__, "--made", place, rule]
                cost = cost_of(command, ROOT, folder / "command.log")
                now = (cost.cpu, cost.megabytes, n_cells)
                grown = zip(now, first.setdefault(rule, now), strict=True)
                times = " | ".join(f"{value / of:.2f}" for value, of in grown)
                print(
                    f"| {rule} | {n_cells} | {n_cells * n_items:,} | {cost.cpu:.1f} | "
                    f"{cost.megabytes:.0f} | {times} |",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[1, 3, 11])
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--made", nargs=2, metavar=("FOLDER", "RULE"))
    given = parser.parse_args()
    if given.made:
        make(Path(given.made[0]), given.made[1])
    else:
        main(given.sizes, given.items)
