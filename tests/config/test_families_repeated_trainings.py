"""`seeds: 3` is three models that differ by their seed, and nothing that was trained is lost."""

from pathlib import Path
from typing import Any

import pytest

from tests.config.test_recipes import config, project
from userturn.config.families import repeat_trainings, trainings
from userturn.errors import ConfigError
from userturn.study.grid import Grid
from userturn.workflow.startup import checked_study

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
