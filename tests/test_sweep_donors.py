"""A shard shows every item the answer of its donor, also where that belongs to another shard."""

import json
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tiny_model import write_tiny_model
from tests.workflow import ROOT
from userturn.datasets import prepare_dataset
from userturn.descriptions import describe_model
from userturn.grid import Grid
from userturn.pending import Pending
from userturn.planning import read_plan
from userturn.requests import Request
from userturn.signals import STOP_SIGNALS, StopFlag
from userturn.sweep import load_sweep, next_in_hash_order

N_ITEMS, N_SHARDS = 12, 3


class Answering:
    """Says which item it was asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, stage: str, requests: Sequence[Request]) -> dict[str, dict[str, Any]]:
        if stage == "answers":
            self.asked += [request.item for request in requests]
        return {r.key: {"outcome": "ok", "text": f"About {r.item}."} for r in requests}


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Give the test run its own signals back: a sweep listens to them."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    folder = write_tiny_model(tmp_path / "model")
    config["models"] = {"tiny": {"source": str(folder), "max_model_len": 4096, "shards": N_SHARDS}}
    config["controls"]["human"] = []
    config["datasets"] = {
        "items": {
            "file": str(ROOT / "data/demo/word_problems.jsonl"),
            "fields": {"id": "id", "prompt": "question"},
            "verifier": "none",
            "limit": N_ITEMS,
        }
    }
    config["run"] = {"temperatures": [0], "perturbations": ["shuffled_answer"]}
    made = Grid(config, tmp_path / "results")
    prepare_dataset(made.dataset_settings("items"), "x", made.dataset_path("items"))
    describe_model(made, "tiny", made.results / "models" / "tiny.json")
    return made


def test_every_item_is_shown_its_donor_s_answer_in_any_shard(grid: Grid) -> None:
    (cell,) = grid.cells
    n_asked = 0
    for shard in grid.shards("tiny"):
        sweep = load_sweep(grid, "tiny", shard, Pending(grid).identities("tiny"), StopFlag())
        answering = Answering()
        sweep.asker = answering  # type: ignore[assignment]
        sweep.run()
        n_asked += len(answering.asked)
    plan = read_plan(grid.requests_folder("tiny", "items", grid.cell_identity(cell)))
    donors = next_in_hash_order(plan["item"].to_list())
    assert plan.height == N_ITEMS
    for item, shown, change in plan.select("item", "answer", "change").iter_rows():
        assert shown == f"About {donors[item]}."
        assert json.loads(change) == {"donor": donors[item]}
    # A shard asks for one more than its own: the first item of the next.
    assert N_ITEMS < n_asked <= N_ITEMS + N_SHARDS
