"""A shard shows every item the answer of its donor, also where that belongs to another shard."""

import json
from pathlib import Path

import pytest

from tests.support.collected import swept
from tests.support.tiny_grid import tiny_grid
from userturn.generation.plan_files import next_in_hash_order, read_plan
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending

N_ITEMS, N_SHARDS = 12, 3


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    run = {"temperatures": [0], "perturbations": ["shuffled_answer"]}
    return tiny_grid(tmp_path, N_ITEMS, N_SHARDS, run=run)


def test_every_item_is_shown_its_donor_s_answer_in_any_shard(grid: Grid) -> None:
    (cell,) = grid.cells
    n_asked = 0
    for shard in grid.shards("tiny"):
        alone = grid.results / shard  # as if no other shard had begun
        grid.journal_folder = lambda _, dataset, alone=alone: alone / dataset  # type: ignore[misc]
        pending = Pending(grid).identities("tiny")
        asked = swept(grid, "tiny", shard, pending, lambda one: f"About {one.item}.")
        n_asked += sum(one.prompt.text.endswith("assistant\n") for one in asked)  # type: ignore[union-attr]
    folder = grid.requests_folder("tiny", "items", grid.cell_identity(cell))
    (plan,) = read_plan(folder, N_ITEMS)
    donors = next_in_hash_order(plan["item"].to_list())
    assert plan.height == N_ITEMS
    for item, shown, change in plan.select("item", "answer", "change").iter_rows():
        assert shown == f"About {donors[item]}."
        assert json.loads(change) == {"donor": donors[item]}
    # A shard asks for one more than its own: the first item of the next.
    assert N_ITEMS < n_asked <= N_ITEMS + N_SHARDS
