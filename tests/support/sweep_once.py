"""One model through the real code path, in a process of its own: describe, answer, probe, stop.

python -m tests.support.sweep_once FOLDER_OF_MODEL FOLDER_OF_RESULTS ENGINE DTYPE N_ITEMS \\
    [USER_HEADER]
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from tests.support.collected import collect_answers, collect_user_turns
from userturn.datasets.prepare import prepare_dataset
from userturn.generation.describe_model import describe_model
from userturn.generation.sweep import run_sweep
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending

ROOT = Path(__file__).resolve().parents[2]
ITEMS = {
    "file": str(ROOT / "data/demo/word_problems.jsonl"),
    "fields": {"id": "id", "prompt": "question", "reference": "answer"},
    "verifier": "none",
}


def study(folder: str, engine: str, dtype: str, limit: int, user_header: str) -> dict[str, Any]:
    """Return the shipped configuration, with one small model and dataset."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    line = {"source": folder, "dtype": dtype, "gpus": 0, "max_model_len": 1024}
    config["models"] = {"tiny": line | ({"user_header": user_header} if user_header else {})}
    config["controls"]["human"] = []
    config["likelihood"] = False
    config["datasets"] = {"items": ITEMS | {"limit": limit}}
    config["run"] = {"temperatures": [1.0], "perturbations": ["none", "shuffled_answer"]}
    config["answer"] |= {"temperature": 1.0, "max_tokens": 8}
    config["user_turn"] |= {"max_tokens": 48}
    # Random weights write a control token, which makes an answer an error, once in 14 tokens or so:
    # of such short answers about half are whole.
    return config | {"engine": engine, "max_error_share": 1}


def main(
    folder: str, results: str, engine: str, dtype: str, limit: str, user_header: str = ""
) -> None:
    """Run the sweep and collect its tables."""
    grid = Grid(study(folder, engine, dtype, int(limit), user_header), results)
    prepare_dataset(
        grid.dataset_settings("items"), grid.dataset_identity("items"), grid.dataset_path("items")
    )
    describe_model(grid, "tiny", grid.results / "models" / "tiny.json")
    pending = Pending(grid).identities("tiny")
    run_sweep(grid, "tiny", "1of1", pending, 2, grid.results / "sweeps" / "marker.json")
    collect_answers(grid, "tiny", "items", str(grid.results / "answers.parquet"))
    for cell in grid.cells:
        collect_user_turns(grid, cell, str(grid.results / f"{cell.perturbation}.parquet"))


if __name__ == "__main__":
    main(*sys.argv[1:])
