"""A small part of the demo through the real code path, in a process of its own: sweep and collect.

python -m tests.support.sweep_demo FOLDER_OF_RESULTS [URL_OF_SERVER]
"""

import sys
from pathlib import Path
from typing import Any

from tests.support.collected import collect_answers, collect_user_turns
from userturn.config.load import load_study
from userturn.datasets.prepare import prepare_dataset
from userturn.generation.collect import collect_table
from userturn.generation.describe_model import describe_model
from userturn.generation.sweep import run_sweep
from userturn.sources.registry import asked
from userturn.sources.source import SCORES
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending

DEMO = [Path("profiles/demo/study.yaml"), Path("tests/support/small_demo.yaml")]
SERVER = Path("profiles/demo/server.yaml")


def study(url: str | None) -> dict[str, Any]:
    """Return the configuration of the demo, smaller; its model is at a server, if there is one."""
    if url is None:
        return load_study(DEMO)
    config = load_study([*DEMO, SERVER])
    for name in config["run"]["models"]:
        config["models"][name]["endpoint"] = url
    return config


def main(results: str, url: str | None = None) -> None:
    """Sweep the model, and collect its answers, user turns and scores."""
    grid = Grid(study(url), results)
    for name in grid.prepared_datasets:
        prepare_dataset(
            grid.dataset_settings(name), grid.dataset_identity(name), grid.dataset_path(name)
        )
    (model,) = grid.models
    describe_model(grid, model, grid.results / "models" / f"{model}.json")
    pending = Pending(grid).identities(model)
    run_sweep(grid, model, "1of1", pending, 2, grid.results / "sweeps" / "marker.json")
    tables = grid.results / "tables"
    for name in grid.datasets:
        collect_answers(grid, model, name, str(tables / name / "answers.parquet"))
    for cell in grid.cells:
        place = tables / cell.dataset / f"t{cell.temperature}" / cell.perturbation
        collect_user_turns(grid, cell, str(place / "user_turns.parquet"))
    for scored in (of for of in asked(grid).values() if of.kind == SCORES):
        collect_table(grid, scored, str(tables / scored.dataset / f"{scored.name}.parquet"))


if __name__ == "__main__":
    main(*sys.argv[1:])
