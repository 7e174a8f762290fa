"""What people label of a grid: families, private datasets, the chosen part, drawn rounds, pairs."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.made_up_results import made_up_config
from tests.support.snakemake_runs import ROOT
from userturn.config.families import family
from userturn.config.load import load_config
from userturn.errors import ConfigError
from userturn.study.grid import Grid
from userturn.workflow.humans import HumanGrid, PairGrid
from userturn.workflow.study import Study, asked_for


def humans(results: Path | str = "nowhere", **changes: Any) -> HumanGrid:
    config = load_config([ROOT / "config.yaml"])
    config["humans"] |= changes
    return HumanGrid(Grid(config, results))


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("qwen3.5-35b-a3b", "qwen3.5"),
        ("gpt-oss-20b", "gpt-oss"),
        ("glm-4.7", "glm"),
        ("smollm2-135m", "smollm2"),
        ("mine", "mine"),
    ],
)
def test_family_is_read_from_the_name(model: str, expected: str) -> None:
    assert family(model) == expected


def test_shipped_grid_draws_from_every_model_and_public_dataset() -> None:
    # 11 models x 4 datasets without HealthBench x 2 temperatures x 1 perturbation.
    grid = humans()
    assert len(grid.cells) == 11 * 4 * 2
    assert grid.n_hidden == 11 * 2
    assert not {cell.dataset for cell in grid.cells} & {"healthbench"}


@pytest.mark.parametrize(
    ("shown", "n_datasets"), [(True, 5), (["healthbench"], 5), ([], 4), (False, 4)]
)
def test_private_datasets_are_shown_only_where_the_config_says_so_of_each(
    shown: bool | list[str], n_datasets: int
) -> None:
    grid = humans(include_private=shown)
    assert len(grid.cells) == 11 * n_datasets * 2 and grid.n_hidden == 11 * (5 - n_datasets) * 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"include_private": ["healthbnch"]}, "'healthbnch' is not defined, did you mean"),
        (
            {"from": {"perturbations": ["truncat"]}},
            "'truncat' is not defined, did you mean 'truncate'",
        ),
        ({"judge": "heuristics"}, r"humans.judge: 'heuristics' is not a judge of this run"),
    ],
)
def test_a_misspelt_name_is_told(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        humans(**changes)


def test_perturbed_turns_are_drawn_where_the_config_names_them() -> None:
    cells = humans(**{"from": {"perturbations": ["truncate", "generic_question"]}}).cells
    assert {cell.perturbation for cell in cells} == {"truncate", "generic_question"}


def test_round_that_is_shared_out_waits_for_the_labels_of_those_before(tmp_path: Path) -> None:
    rounds = ["first", "second"]
    assert humans(tmp_path, rounds=rounds).earlier_annotations("second") == []
    grid = humans(tmp_path, rounds=rounds, turns=600)
    assert grid.earlier_annotations("second") == ["results/humans/first/annotations.parquet"]
    assert grid.earlier_annotations("first") == []


def test_whole_grid_is_drawn_from_where_no_part_is_named() -> None:
    assert len(humans(**{"from": {}}).cells) == 11 * 4 * 5 * 3


def test_drawn_round_waits_for_nothing_and_a_new_one_for_its_cells(tmp_path: Path) -> None:
    folder = tmp_path / "drawn" / "first"
    folder.mkdir(parents=True)
    for name in ("key.parquet", "items.parquet"):
        (folder / name).touch()
    grid = humans(tmp_path, rounds=["first", "second"])
    assert grid.samples_to_draw("first") == grid.user_turns_to_draw("first") == []
    assert grid.earlier_keys("second") == ["results/humans/first/key.parquet"]
    assert len(grid.samples_to_draw("second")) == len(grid.cells)


PAIRS = {"rounds": ["pairs"], "per_cell": 5}
BOTH = ("none", "reference_answer")


def config_of(perturbations: tuple[str, ...] = BOTH, **humans: Any) -> dict[str, Any]:
    config = made_up_config(["a-1b"], ["d", "mine"], (0, 1.0), perturbations, ("heuristic",))
    config["datasets"]["mine"] |= {"private": True}
    config["humans"] |= {"rounds": ["first"], **humans}
    return config


def pairs(*args: Any, **humans: Any) -> PairGrid:
    return PairGrid(HumanGrid(Grid(config_of(*args, **humans), "nowhere")))


def test_pairs_are_of_the_cells_with_the_datasets_own_answer_whatever_labels_are_of() -> None:
    cells = pairs(pairs=PAIRS, **{"from": {"temperatures": [0]}}).cells
    assert [(c.dataset, c.temperature) for c in cells] == [("d", "0"), ("d", "1")]
    assert {c.perturbation for c in cells} == {"reference_answer"}


def test_private_datasets_are_in_pairs_only_where_annotators_may_see_them() -> None:
    shown = pairs(pairs=PAIRS, include_private=["mine"]).cells
    assert {cell.dataset for cell in shown} == {"d", "mine"}


@pytest.mark.parametrize(
    ("perturbations", "rounds", "said"),
    [
        (BOTH, {"rounds": ["first"], "per_cell": 5}, r"'first' is also in humans\.rounds"),
        (("none",), PAIRS, "add 'reference_answer' to run"),
    ],
)
def test_pairs_of_a_taken_name_or_without_the_datasets_own_answer_are_refused(
    perturbations: tuple[str, ...], rounds: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        pairs(perturbations, pairs=rounds)


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
