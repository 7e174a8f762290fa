"""The chance floor in a study: what it changes, and what it leaves as it was."""

import copy
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.sources.drawn_turns import INPUTS, swapped, swapped_cells_of, unseen
from userturn.study.grid import Grid
from userturn.workflow.study import Study

CONFIG = load_config([ROOT / "config.yaml"])
DEMO = yaml.safe_load((ROOT / "profiles" / "demo" / "study.yaml").read_text())


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(ROOT)
    return load_config(["config.yaml", "profiles/demo/study.yaml"])


def with_floor(config: dict[str, Any], n_turns: int) -> Grid:
    changed = copy.deepcopy(config)
    changed["controls"]["chance_floor"] = n_turns
    return Grid(changed)


def test_a_floor_changes_no_identity_of_a_cell_or_of_its_verdicts(demo: dict[str, Any]) -> None:
    off, on = with_floor(demo, 0), with_floor(demo, 50)
    for cell in off.cells:
        assert off.cell_identity(cell) == on.cell_identity(cell)
        assert off.verdicts_identity(cell, "heuristic") == on.verdicts_identity(cell, "heuristic")


def test_a_floor_of_another_size_or_seed_is_drawn_again(demo: dict[str, Any]) -> None:
    few, many = (with_floor(demo, n) for n in (20, 50))
    other = with_floor({**demo, "seed": demo["seed"] + 1}, 20)
    assert len({next(swapped(grid)).identity for grid in (few, many, other)}) == 3


def test_a_study_from_before_there_was_a_floor_has_none(demo: dict[str, Any]) -> None:
    del demo["controls"]["chance_floor"]
    grid = Grid(demo)
    inputs = [INPUTS[name](grid) for name in ("swapped_verdicts", "unswapped_verdicts")]
    assert [[*swapped(grid)], *inputs] == [[], [], []]


def test_controls_have_no_floor_and_every_other_cell_has_one(demo: dict[str, Any]) -> None:
    demo["run"]["perturbations"] = ["none", "truncate", "header_only", "shuffled_answer"]
    floor = swapped_cells_of(with_floor(demo, 9))
    cells = [cell for cells in floor.values() for cell in cells]
    assert {cell.perturbation for cell in cells} == {"none", "truncate"}
    assert len(cells) == 2 * 2 * 2


def test_turns_of_controls_alone_are_judged_after_the_answer_that_they_lack(
    demo: dict[str, Any],
) -> None:
    demo["run"]["perturbations"] = ["truncate", "none", "no_answer", "header_only"]
    demo["controls"]["unseen_answer"] = 9
    grid = Grid(demo)
    for turns in unseen(grid):
        written = {path.split("/")[5] for path in turns.input_paths}
        assert written == {"none", "no_answer", "header_only"}
    seen = {path.split("/")[5] for path in INPUTS["seen_verdicts"](grid)}
    assert seen == {"none"}
    assert len({turns.folder for turns in unseen(grid)}) == 2


@pytest.mark.parametrize("perturbations", [["no_answer"], ["none", "truncate"]])
def test_without_a_control_or_an_unperturbed_cell_no_answer_is_unseen(
    demo: dict[str, Any], perturbations: list[str]
) -> None:
    demo["run"]["perturbations"] = perturbations
    demo["controls"]["unseen_answer"] = 9
    assert [*unseen(Grid(demo))] == []


@pytest.mark.parametrize(
    ("how", "marker"),
    [
        ({"serve": True}, "results/judging/apart.json"),
        ({"base_url": "http://h/v1", "batch": True}, "results/judging/batches/apart.json"),
    ],
)
def test_a_served_judge_and_one_asked_by_batch_judge_the_swapped_turns_in_their_one_job(
    demo: dict[str, Any], how: dict[str, Any], marker: str
) -> None:
    apart = {"kind": "endpoint", "model": "made/up", "settings": {}, "gpus": 0}
    demo["judges"]["apart"] = apart | how
    demo["run"]["judges"] = ["heuristic", "apart"]
    judges = Study(Grid(demo, "results-that-are-not-there")).judges
    turns = next(swapped(judges.grid))
    assert turns.path in judges.pending_turns("apart")
    assert judges.marker(turns.verdicts("apart")) == [marker]
    assert judges.marker(turns.verdicts("heuristic")) == []
