"""Family and size are read from a model's name, unless its entry says otherwise."""

from pathlib import Path
from typing import Any

import pytest

from tests.config.test_recipes import config, project
from userturn.config.families import baselines, families, family, repeat_trainings, size, trainings
from userturn.errors import ConfigError
from userturn.study.grid import Grid
from userturn.workflow.startup import checked_study


@pytest.mark.parametrize(
    ("name", "expected_family", "expected_size"),
    [
        ("qwen3.5-0.8b", "qwen3.5", (0.8, 0.8)),
        ("qwen3.5-35b-a3b", "qwen3.5", (35, 3)),
        ("qwen3.5-397b-a17b", "qwen3.5", (397, 17)),
        ("gpt-oss-20b", "gpt-oss", (20, 20)),
        ("gpt-oss-120b", "gpt-oss", (120, 120)),
        ("glm-4.7", "glm", (None, None)),
        ("smollm2-135m", "smollm2", (0.135, 0.135)),
        ("tiny", "tiny", (None, None)),
        ("qwen3.5-2b-sft", "qwen3.5", (2, 2)),
    ],
)
def test_name_holds_family_and_size(
    name: str, expected_family: str, expected_size: tuple[float | None, float | None]
) -> None:
    assert (family(name), size(name)) == (expected_family, expected_size)


def test_line_wins_over_the_name_and_order_is_family_then_size() -> None:
    entries = {"b-7b": {}, "b-0.5b": {}, "mine": {"family": "a", "size": "35b-a3b"}, "b": {}}
    assert families(entries) == [
        ("mine", "a", 35.0, 3.0),
        ("b-0.5b", "b", 0.5, 0.5),
        ("b-7b", "b", 7.0, 7.0),
        ("b", "b", None, None),
    ]


def test_model_trained_from_a_trained_one_has_both_as_baselines() -> None:
    entries = {"m": {}, "m-sft": {"base": "m"}, "m-rl": {"base": "m-sft"}, "n-sft": {"base": "n"}}
    assert baselines(entries, entries) == [("m-rl", "m-sft"), ("m-rl", "m"), ("m-sft", "m")]
    run = {name: entries[name] for name in ("m", "m-rl")}  # the one between is not of the run
    assert baselines(run, entries) == [("m-rl", "m")]


__all__ = ["project"]


def repeated(**models: Any) -> dict[str, Any]:
    """A configuration as a study opens it, whose run has these models and the base."""
    found = config(**models)
    found["run"] = {**found.get("run", {}), "models": ["base-1b", *models]}
    repeat_trainings(found)
    return found


def test_seeds_are_models_of_the_run_that_differ_by_the_recipes_seed(project: Path) -> None:
    grid = Grid(repeated(x={"base": "base-1b", "recipe": "demo-sft", "seeds": 3}))
    assert grid.trained == ["x", "x-seed2", "x-seed3"]
    seeds = [grid.contents.recipes[name]["optimisation"]["seed"] for name in grid.trained]
    assert seeds == [1, 2, 3]
    assert len({grid.training_identity(name) for name in grid.trained}) == 3


def test_the_first_of_several_trainings_is_the_one_that_was_there_before(project: Path) -> None:
    once = Grid(repeated(x={"base": "base-1b", "recipe": "demo-sft"}))
    again = Grid(repeated(x={"base": "base-1b", "recipe": "demo-sft", "seeds": 2}))
    assert again.training_identity("x") == once.training_identity("x")
    assert again.contents.models["x"] == once.contents.models["x"]


def test_repeating_twice_is_repeating_once(project: Path) -> None:
    # As a study's record has the models of its seeds already.
    once = repeated(x={"base": "base-1b", "recipe": "demo-sft", "seeds": 3})
    names = list(once["models"]), list(once["run"]["models"])
    repeat_trainings(once)
    assert (list(once["models"]), list(once["run"]["models"])) == names


def test_second_stage_follows_the_first_of_its_own_number(project: Path) -> None:
    found = repeated(
        s={"base": "base-1b", "recipe": "demo-sft", "seeds": 2},
        r={"base": "s", "recipe": "demo-rl", "seeds": 2},
    )
    checked_study(found)
    grid = Grid(found)
    assert grid.entries["r-seed2"]["base"] == "s-seed2"
    assert trainings(grid.models, grid.entries) == {
        ("r", "s"): [("r", "s"), ("r-seed2", "s-seed2")],
        ("r", "base-1b"): [("r", "base-1b"), ("r-seed2", "base-1b")],
        ("s", "base-1b"): [("s", "base-1b"), ("s-seed2", "base-1b")],
    }


def test_model_trained_from_a_repeated_one_is_no_repetition_itself(project: Path) -> None:
    found = repeated(
        s={"base": "base-1b", "recipe": "demo-sft", "seeds": 2},
        r={"base": "s-seed2", "recipe": "demo-rl"},
    )
    grid = Grid(found)
    assert not {"seeds", "repetition"} & set(grid.entries["r"])
    assert ("r", "s") in trainings(grid.models, grid.entries)


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({"x": {"source": "data", "seeds": 2}}, "`seeds` without `recipe`"),
        ({"x": {"base": "base-1b", "recipe": "demo-sft", "seeds": 0}}, "expected at least 1"),
        (
            {
                "x": {"base": "base-1b", "recipe": "demo-sft", "seeds": 2},
                "x-seed2": {"source": "data"},
            },
            "models.x-seed2: `seeds: 2` of 'x' makes a model of this name",
        ),
        (
            {
                "s": {"base": "base-1b", "recipe": "demo-sft", "seeds": 2},
                "r": {"base": "s", "recipe": "demo-rl", "seeds": 3},
            },
            "models.r.seeds: found 3, but its base 's' has 2",
        ),
    ],
)
def test_seeds_that_cannot_be_followed_are_a_sentence(
    project: Path, models: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        checked_study(repeated(**models))
