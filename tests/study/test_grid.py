"""The grid: what a cell's identity depends on, and which cells are pending."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.generation.plan_files import shard_of
from userturn.storage.table_files import write_table
from userturn.study.cells import Cell, files_of
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending

CELL = Cell("qwen3.5-2b", "demo", "0.7", "truncate")


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    monkeypatch.chdir(ROOT)
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    file = tmp_path / "items.jsonl"
    file.write_text('{"id": "a"}\n')
    config["datasets"]["demo"] = {"file": str(file), "fields": {"id": "id"}, "verifier": "none"}
    config["run"] = {"datasets": ["demo"]}
    return config


def identity(config: dict[str, Any]) -> str:
    return Grid(config).cell_identity(CELL)


def changed(config: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    *parents, last = path.split("/")
    part = config
    for key in parents:
        part = part[key]
    part[last] = value
    return config


def test_cells_are_all_combinations(config: dict[str, Any]) -> None:
    assert len(Grid(config).cells) == 11 * 1 * 5 * len(config["perturbations"])


def test_temperatures_are_named_alike_however_they_are_written(config: dict[str, Any]) -> None:
    config["temperatures"] = [1, 0.70, 0]
    assert list(Grid(config).temperatures) == ["0", "0.7", "1"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("models/qwen3.5-2b", "Qwen/another"),
        ("models/qwen3.5-2b", {"source": "Qwen/Qwen3.5-2B", "revision": "abc"}),
        ("models/qwen3.5-2b", {"source": "Qwen/Qwen3.5-2B", "enable_thinking": True}),
        ("models/qwen3.5-2b", {"source": "Qwen/Qwen3.5-2B", "dtype": "float32"}),
        ("models/qwen3.5-2b", {"source": "Qwen/Qwen3.5-2B", "stop": ["###"]}),
        ("perturbations/truncate/keep", 0.25),
        ("answer/max_tokens", 100),
        ("user_turn/top_p", 0.9),
        ("samples", 3),
        ("seed", 1),
        ("today", "2026-04-03"),
        ("engine", "transformers"),
        ("datasets/demo/limit", 1),
    ],
)
def test_what_shapes_a_cell_changes_its_identity(
    config: dict[str, Any], path: str, value: object
) -> None:
    before = identity(config)
    assert identity(changed(config, path, value)) != before


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("models/qwen3.5-2b", {"source": "Qwen/Qwen3.5-2B", "gpus": 4, "shards": 3}),
        ("models/another", "org/another"),
        ("perturbations/none/operator", "none"),
        ("perturbations/another", {"operator": "none"}),
        ("datasets/demo/verifier", "numeric"),
        ("judges/heuristic/grounded", 0.3),
        ("max_error_share", 0.5),
        ("vllm/max_num_seqs", 8),
        ("determinism", "exact"),
        ("datasets/demo/export", False),
    ],
)
def test_what_does_not_shape_a_cell_leaves_its_identity(
    config: dict[str, Any], path: str, value: object
) -> None:
    before = identity(config)
    assert identity(changed(config, path, value)) == before


def test_content_of_a_dataset_changes_the_identity_and_its_time_does_not(
    config: dict[str, Any],
) -> None:
    before, file = identity(config), Path(config["datasets"]["demo"]["file"])
    file.touch()
    assert identity(config) == before
    file.write_text('{"id": "b"}\n')
    assert identity(config) != before


def test_more_samples_leave_greedy_cells_alone(config: dict[str, Any]) -> None:
    greedy = CELL._replace(temperature="0")
    before = Grid(config).cell_identity(greedy)
    assert Grid(changed(config, "samples", 5)).cell_identity(greedy) == before


def test_cell_is_pending_until_its_file_has_its_identity(
    config: dict[str, Any], tmp_path: Path
) -> None:
    def pending() -> bool:
        return files_of([CELL], "user_turns.parquet")[0] in Pending(Grid(config, tmp_path)).tables

    grid = Grid(config, tmp_path)
    path = tmp_path / "cells" / CELL.folder / "user_turns.parquet"
    grid.requests_folder(CELL.model, CELL.dataset, identity(config)).mkdir(parents=True)
    assert pending()
    write_table(pl.DataFrame({"item": ["a"]}), path, "another identity")
    assert pending()
    write_table(pl.DataFrame({"item": ["a"]}), path, identity(config))
    assert not pending()


def test_shards_share_all_items_and_split_further_when_there_are_more() -> None:
    items = [f"item-{i}" for i in range(4000)]
    two, four = ([shard_of(item, n) for item in items] for n in (2, 4))
    assert set(four) == {1, 2, 3, 4}
    assert [(shard + 1) // 2 for shard in four] == two
    # 4000 fair draws of 1/4: 1000 with a standard deviation of 27.4; five of them is 137.
    assert all(abs(four.count(shard) - 1000) < 137 for shard in (1, 2, 3, 4))
