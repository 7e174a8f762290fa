"""The grid of a tiny model and some word problems, described and prepared, ready to be swept."""

from pathlib import Path
from typing import Any

import yaml

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.datasets.prepare import prepare_dataset
from userturn.generation.describe_model import describe_model
from userturn.study.grid import Grid


def tiny_grid(folder: Path, n_items: int, n_shards: int = 1, **changes: Any) -> Grid:
    """Return a grid of one model, `tiny`, and one dataset, `items`, with changes of the config."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    source = folder / "model"
    if not source.exists():
        write_tiny_model(source)
    config["models"] = {"tiny": {"source": str(source), "max_model_len": 4096, "shards": n_shards}}
    config["datasets"] = {
        "items": {
            "file": str(ROOT / "data/demo/word_problems.jsonl"),
            "fields": {"id": "id", "prompt": "question"},
            "verifier": "none",
            "limit": n_items,
        }
    }
    config["controls"]["human"] = []
    config["likelihood"] = False
    grid = Grid(config | changes, folder / "results")
    prepare_dataset(grid.dataset_settings("items"), "x", grid.dataset_path("items"))
    describe_model(grid, "tiny", grid.results / "models" / "tiny.json")
    return grid
