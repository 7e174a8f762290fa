"""Rounds of pairs of a grid: the cells that they draw from, and what is wrong with their names."""

from typing import Any

import pytest

from tests.support.made_up_results import made_up_config
from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.errors import ConfigError
from userturn.study.grid import Grid
from userturn.workflow.humans import HumanGrid, PairGrid
from userturn.workflow.study import Study, asked_for

PAIRS = {"rounds": ["pairs"], "per_cell": 5}
BOTH = ("none", "reference_answer")


def config_of(perturbations: tuple[str, ...] = BOTH, **humans: Any) -> dict[str, Any]:
    config = made_up_config(["a-1b"], ["d", "mine"], (0, 1.0), perturbations, ("heuristic",))
    config["datasets"]["mine"] |= {"private": True}
    config["humans"] |= {"rounds": ["first"], **humans}
    return config


def pairs(*args: Any, **humans: Any) -> PairGrid:
    return PairGrid(HumanGrid(Grid(config_of(*args, **humans), "nowhere")))


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_pairs_are_of_the_cells_with_the_datasets_own_answer_whatever_labels_are_of() -> None:
    cells = pairs(pairs=PAIRS, **{"from": {"temperatures": [0]}}).cells
    assert [(c.dataset, c.temperature) for c in cells] == [("d", "0"), ("d", "1")]
    assert {c.perturbation for c in cells} == {"reference_answer"}


def test_private_datasets_are_in_pairs_only_where_annotators_may_see_them() -> None:
    shown = pairs(pairs=PAIRS, include_private=["mine"]).cells
    assert {cell.dataset for cell in shown} == {"d", "mine"}


def test_round_with_the_name_of_a_round_of_labels_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'first' is also in humans\.rounds"):
        pairs(pairs={"rounds": ["first"], "per_cell": 5})


def test_pairs_of_a_run_without_the_datasets_own_answer_are_refused() -> None:
    with pytest.raises(ConfigError, match="add 'reference_answer' to run"):
        pairs(("none",), pairs=PAIRS)


@pytest.mark.parametrize("off", [{}, {"pairs": {"rounds": [], "per_cell": 5}}])
def test_without_rounds_of_pairs_a_study_has_no_file_of_them(off: dict[str, Any]) -> None:
    def identities(changes: dict[str, Any]) -> dict[str, str | None]:
        config = load_config([ROOT / "config.yaml", ROOT / "profiles" / "demo" / "study.yaml"])
        config["run"]["perturbations"] = list(BOTH)
        config["humans"] |= changes
        return asked_for(Study(Grid(config, "nowhere")))

    with_pairs, without = identities({"pairs": PAIRS}), identities(off)
    shown = ("annotations.parquet", "items.parquet", "key.parquet", "task.html")
    assert with_pairs.keys() - without.keys() == {
        "results/tables/human_likeness.parquet",
        "results/figures/human_likeness.vl.json",
        *(f"results/pairs/pairs/{name}" for name in shown),
    }
    changed = {path for path in without if with_pairs[path] != without[path]}
    assert changed == {"results/study.json", "results/report/index.html"}
