"""A shard shows every item the answer of its donor, also where that belongs to another shard."""

import json
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.collected import ask_pending
from tests.support.tiny_grid import tiny_grid
from userturn.generation.load_engine import load_model
from userturn.generation.plan_files import next_in_hash_order, read_plan
from userturn.generation.sweep import request_runner
from userturn.models.requests import Completion, Request
from userturn.processes import STOP_SIGNALS, StopFlag
from userturn.study.grid import Grid
from userturn.study.model_description import read_description
from userturn.workflow.pending import Pending

N_ITEMS, N_SHARDS = 12, 3


class Answering:
    """An engine that says which item it was asked about."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.asked: list[list[str]] = []

    def __call__(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Completion]]:
        self.asked.append([])
        for request in requests:
            self.asked[-1].append(request.item)
            ids = self.tokenizer(f"About {request.item}.", add_special_tokens=False)["input_ids"]
            yield request, Completion((*ids, request.sampling.stop_token_ids[0]), "stop")


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Give the test run its own signals back: a sweep listens to them."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    run = {"temperatures": [0], "perturbations": ["shuffled_answer"]}
    return tiny_grid(tmp_path, N_ITEMS, N_SHARDS, run=run)


def test_every_item_is_shown_its_donor_s_answer_in_any_shard(grid: Grid) -> None:
    (cell,) = grid.cells
    n_asked = 0
    model = load_model(grid, "tiny", read_description(grid, "tiny"))
    for shard in grid.shards("tiny"):
        runner = request_runner(grid, model, shard, StopFlag())
        answering = Answering(model.template.tokenizer)
        runner.load = lambda engine=answering: engine  # type: ignore[misc]
        alone = grid.results / shard  # as if no other shard had begun
        grid.journal_folder = lambda _, dataset, alone=alone: alone / dataset  # type: ignore[misc]
        ask_pending(grid, model, shard, Pending(grid).identities("tiny"), runner)
        answered, _ = answering.asked
        n_asked += len(answered)
    folder = grid.requests_folder("tiny", "items", grid.cell_identity(cell))
    (plan,) = read_plan(folder, N_ITEMS)
    donors = next_in_hash_order(plan["item"].to_list())
    assert plan.height == N_ITEMS
    for item, shown, change in plan.select("item", "answer", "change").iter_rows():
        assert shown == f"About {donors[item]}."
        assert json.loads(change) == {"donor": donors[item]}
    # A shard asks for one more than its own: the first item of the next.
    assert N_ITEMS < n_asked <= N_ITEMS + N_SHARDS
