"""The study of this folder swept from nothing, by an engine that notes what it is shown.

python -m tests.support.sweep_anew FOLDER_OF_RESULTS
"""

import sys
from pathlib import Path

from tests.support import answering_engine
from userturn.config.load import load_study
from userturn.datasets.prepare import prepare_dataset
from userturn.generation.describe_model import describe_model
from userturn.generation.sweep import run_sweep
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending


def main(results: Path) -> None:
    """Prepare, describe and sweep."""
    answering_engine.install()
    grid = Grid(load_study([Path("study.yaml")]), results)
    for name in grid.prepared_datasets:
        prepare_dataset(
            grid.dataset_settings(name), grid.dataset_identity(name), grid.dataset_path(name)
        )
    for model in grid.models:
        describe_model(grid, model, grid.results / "models" / f"{model}.json")
        pending = Pending(grid).identities(model)
        for shard in grid.shards(model):
            run_sweep(grid, model, shard, pending, 1, results / "marker.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
