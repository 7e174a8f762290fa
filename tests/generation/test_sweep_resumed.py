"""Whether requests are all finished is known without a tokenizer, before any sweep is planned."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.support.collected import collect_user_turns
from userturn.config.load import load_config
from userturn.generation.describe_model import describe_model
from userturn.generation.sweep import finished_plans, n_finished, run_sweep
from userturn.storage.table_files import write_table
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.study.model_description import read_description, request_identity
from userturn.study.sweep_notes import LostPlansError, LostRecordsError
from userturn.workflow.pending import GenerationGrid, Pending

pytestmark = pytest.mark.slow

LOST = Cell("tiny", "word-problems", "0", "none")
CELL = f"results/cells/{LOST.folder}/user_turns.parquet"
HEAVY = ["torch", "transformers", "vllm"]
SWEEP = f"""
import sys
from userturn.config.load import load_config
from userturn.study.cells import Cell
from userturn.study.sweep_notes import LostRecordsError
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending
from userturn.generation.sweep import run_sweep
grid = Grid(load_config(["config.yaml", "study.yaml"]))
run_sweep(grid, "tiny", "1of1", Pending(grid).identities("tiny"), 1, "marker.json")
print([name for name in {HEAVY} if name in sys.modules])
"""
NOTE = Path("results/sweeps/tiny/finished/1of1.json")


@pytest.fixture
def noted_cell(study: Path, monkeypatch: pytest.MonkeyPatch) -> Grid:
    """The grid of a finished study that has lost one cell of five turns."""
    monkeypatch.chdir(study)
    Path(CELL).unlink()
    return Grid(load_config(["config.yaml", "study.yaml"]))


@pytest.fixture
def split(noted_cell: Grid) -> Grid:
    """The same study after its configuration split the model into two shards."""
    noted_cell.config["models"]["tiny"]["shards"] = 2
    return Grid(noted_cell.config)


@pytest.fixture
def lost_cell(noted_cell: Grid) -> Grid:
    """The same study as a sweep leaves it that was killed before it noted what it finished."""
    NOTE.unlink()
    return noted_cell


def settled(grid: Grid) -> int | None:
    identity = request_identity(grid, "tiny", read_description(grid, "tiny"))
    pending = Pending(grid).identities("tiny")
    finished = finished_plans(grid, "tiny", "1of1", pending, identity)
    return n_finished(grid, "tiny", pending, finished)


def journal_files(grid: Grid) -> list[Path]:
    return sorted(grid.journal_folder("tiny", "word-problems").glob("*.jsonl"))


def plan_of_lost_cell(grid: Grid) -> Path:
    (identity,) = Pending(grid).identities("tiny")
    return grid.requests_folder("tiny", "word-problems", identity) / "1of1.parquet"


def plan_again(grid: Grid) -> None:
    run_sweep(grid, "tiny", "1of1", Pending(grid).identities("tiny"), 1, "m.json", may_ask=False)


def test_sweep_that_is_requeued_after_its_end_leaves_the_same_marker(noted_cell: Grid) -> None:
    before = json.loads(Path("results/sweeps/tiny/1of1.json").read_text())["pending"]
    run_sweep(noted_cell, "tiny", "1of1", [], 1, "marker.json")
    marker = json.loads(Path("marker.json").read_text())
    assert (marker["pending"], marker["n_asked"]) == (before, 0)


def lose_a_reply(grid: Grid) -> None:
    """Take one reply of the lost cell out of the journal."""
    key = pl.read_parquet(plan_of_lost_cell(grid))["key"][0]
    for path in journal_files(grid):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(line for line in lines if key.encode() not in line))


def test_cell_whose_journal_lost_a_reply_is_swept(noted_cell: Grid) -> None:
    assert (Pending(noted_cell).waiting("tiny"), settled(noted_cell)) == ([], 5)
    lose_a_reply(noted_cell)
    assert (len(Pending(noted_cell).waiting("tiny")), settled(noted_cell)) == (1, None)


def test_cell_of_a_model_that_is_described_otherwise_is_swept(noted_cell: Grid) -> None:
    path = noted_cell.results / "models" / "tiny.json"
    description = json.loads(path.read_text())
    description["identity"]["tokenizer"] = "another"
    path.write_text(json.dumps(description))
    assert (len(Pending(noted_cell).waiting("tiny")), settled(noted_cell)) == (1, None)


@pytest.mark.parametrize("of", ["noted_cell", "split"])
def test_cell_whose_records_are_damaged_is_swept_after_the_first_attempt(
    of: str, request: pytest.FixtureRequest
) -> None:
    grid = request.getfixturevalue(of)
    for path in journal_files(grid):
        path.write_bytes(path.read_bytes().replace(b'"outcome"', b'"OUTCOME"'))
    with pytest.raises(LostRecordsError, match="run the same command again"):
        collect_user_turns(grid, LOST, "again.parquet")
    assert len(Pending(grid).waiting("tiny")) == 1


def test_plans_are_made_again_as_they_were_and_nothing_is_asked(noted_cell: Grid) -> None:
    before = {path: path.read_bytes() for path in Path("results/requests").rglob("*.parquet")}
    shutil.rmtree("results/requests")
    assert Pending(noted_cell).lacks_plans_alone("tiny")
    plan_again(noted_cell)
    assert {p: p.read_bytes() for p in Path("results/requests").rglob("*.parquet")} == before
    assert json.loads(Path("m.json").read_text())["n_asked"] == 0
    assert not Pending(noted_cell).lacks_plans_alone("tiny")


def with_length(grid: Grid, length: int) -> Grid:
    models = {"tiny": {**grid.config["models"]["tiny"], "max_model_len": length}}
    return Grid({**grid.config, "models": models}, grid.results)


@pytest.mark.parametrize("more", [-1, 1])
def test_another_context_in_which_as_much_has_room_plans_again_and_asks_nothing(
    noted_cell: Grid, more: int
) -> None:
    other = with_length(noted_cell, noted_cell.models["tiny"]["max_model_len"] + more)
    assert Pending(other).waiting("tiny")
    assert Pending(other).lacks_plans_alone("tiny")
    describe_model(other, "tiny", other.results / "models" / "tiny.json")
    plan_again(other)
    assert json.loads(Path("m.json").read_text())["n_asked"] == 0


def test_lost_plans_of_finished_cells_need_no_sweep(noted_cell: Grid) -> None:
    collect_user_turns(noted_cell, LOST, CELL)
    shutil.rmtree("results/requests")
    pending = Pending(noted_cell)
    assert (pending.waiting("tiny"), pending.lacks_plans_alone("tiny")) == ([], True)


def test_what_other_shards_finished_needs_no_sweep(split: Grid) -> None:
    assert split.shards("tiny") == ["1of2", "2of2"]
    assert Pending(split).waiting("tiny") == []


def test_lost_plans_of_other_shards_are_made_by_the_present_ones(split: Grid) -> None:
    def keys() -> list[str]:
        plans = Path("results/requests").rglob("*.parquet")
        return sorted(key for plan in plans for key in pl.read_parquet(plan)["key"])

    before = keys()
    shutil.rmtree("results/requests")
    generation = GenerationGrid(split, Pending(split))
    assert generation.planned_again == "tiny"
    for shard in split.shards("tiny"):
        run_sweep(split, "tiny", shard, generation.to_finish("tiny", shard), 1, "m.json", False)
        assert json.loads(Path("m.json").read_text())["n_asked"] == 0
    assert keys() == before


def test_a_sweep_makes_lost_plans_that_its_last_one_did_not_make(noted_cell: Grid) -> None:
    collect_user_turns(noted_cell, LOST, CELL)
    identity = noted_cell.cell_identity(LOST)
    shutil.rmtree(noted_cell.requests_folder("tiny", "word-problems", identity))
    Path("results/sweeps/tiny/1of1.json").write_text('{"pending": ["0"]}')
    generation = GenerationGrid(noted_cell, Pending(noted_cell))
    assert generation.to_finish("tiny", "1of1") == sorted(["0", identity])


def test_a_sweep_that_may_not_ask_leaves_missing_records_to_the_next_run(noted_cell: Grid) -> None:
    shutil.rmtree("results/requests")
    assert Pending(noted_cell).lacks_plans_alone("tiny")
    for path in journal_files(noted_cell):
        path.write_bytes(path.read_bytes().replace(b'"outcome"', b'"OUTCOME"'))
    with pytest.raises(LostRecordsError, match="run the same command again"):
        plan_again(noted_cell)
    assert not Pending(noted_cell).lacks_plans_alone("tiny")


def test_a_cell_without_a_plan_has_its_model_s_plans_made_in_the_next_run(noted_cell: Grid) -> None:
    shutil.rmtree("results/requests")
    with pytest.raises(LostPlansError, match="it plans them again"):
        collect_user_turns(noted_cell, LOST, "again.parquet")
    assert not Path("results/sweeps/tiny/1of1.json").exists()
    assert Pending(noted_cell).lacks_plans_alone("tiny")


def test_sweep_with_nothing_missing_imports_neither_tokenizer_nor_engine(lost_cell: Grid) -> None:
    command = [sys.executable, "-c", SWEEP]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.splitlines()[-1] == "[]"
    marker = json.loads(Path("marker.json").read_text())
    assert (marker["n_found"], marker["n_asked"]) == (5, 0)


def test_plan_that_is_lost_or_has_a_gap_settles_nothing(lost_cell: Grid) -> None:
    path = plan_of_lost_cell(lost_cell)
    metadata = pl.read_parquet_metadata(path)
    plan = pl.read_parquet(path).with_columns(
        key=pl.when(pl.col("position") > 0).then("key"), error=pl.lit("the item has no answer")
    )
    write_table(plan, path, metadata["identity"], model=metadata["model"])
    assert settled(lost_cell) is None
    path.unlink()
    assert settled(lost_cell) is None
