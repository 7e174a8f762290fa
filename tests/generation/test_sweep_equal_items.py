"""Two datasets with equal items, and a sweep that was stopped between them.

At temperature 0 a reply serves every request that asks for the same.
"""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.support.collected import collect_answers, swept
from tests.support.tiny_grid import tiny_grid
from userturn.datasets.prepare import prepare_dataset
from userturn.models.requests import Request
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending

pytestmark = pytest.mark.slow
N_ITEMS = 3
OF_OTHERS = "results/answers/tiny/others.parquet"


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grid:
    monkeypatch.chdir(tmp_path)
    run = {"temperatures": [0], "perturbations": ["none"]}
    small = tiny_grid(tmp_path, N_ITEMS, run=run)
    entry = small.config["datasets"]["items"]
    chosen = {*pl.read_parquet(small.dataset_path("items"))["item"]}
    rows = [json.loads(line) for line in Path(entry["file"]).read_text().splitlines()]
    rows = [row for row in rows if row["id"] in chosen]
    copy = tmp_path / "others.jsonl"
    copy.write_text("".join(json.dumps({**row, "id": f"other-{row['id']}"}) + "\n" for row in rows))
    datasets = {"items": entry, "others": {**entry, "file": str(copy)}}
    both = Grid({**small.config, "datasets": datasets}, small.results)
    for name in datasets:
        settings, identity = both.dataset_settings(name), both.dataset_identity(name)
        prepare_dataset(settings, identity, both.dataset_path(name))
    return both


def sweep(grid: Grid, most: int) -> None:
    """Sweep the model; the engine stops before it has replied to more than so many requests."""
    replied: list[str] = []

    def says(request: Request) -> str:
        if len(replied) == most:
            raise KeyboardInterrupt
        replied.append(request.key)
        return f"About {request.key[:6]}."

    swept(grid, "tiny", "1of1", Pending(grid).identities("tiny"), says)


def test_answers_whose_replies_have_another_name_wait_until_they_are_planned_again(
    grid: Grid, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        sweep(grid, N_ITEMS + 1)  # all answers of one dataset, and one of the other
    stopped = Pending(grid)
    assert OF_OTHERS in stopped.tables  # nothing is missing for it, but its plan names no reply
    assert not stopped.lacks_plans_alone("tiny")  # user turns are to be asked for
    sweep(grid, 100)
    assert OF_OTHERS not in Pending(grid).tables
    collect_answers(grid, "tiny", "others", str(tmp_path / "answers.parquet"))
    assert pl.read_parquet(tmp_path / "answers.parquet")["outcome"].to_list() == ["ok"] * N_ITEMS
