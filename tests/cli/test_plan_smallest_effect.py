"""The smallest effect of a planned study counts the tests that its tables will adjust."""

from types import SimpleNamespace
from typing import Any

import pytest

from userturn.cli.plan import confirmatory_tests, smallest_effect
from userturn.stats.margins import detectable_difference


def grid(n_models: int, temperatures: list[float], *perturbations: str) -> Any:
    models: dict[str, Any] = {f"m-{i}b": {} for i in range(1, n_models + 1)}
    return SimpleNamespace(
        models=models,
        entries=models,
        temperatures=temperatures,
        perturbations={name: {"operator": name} for name in ("none", *perturbations)},
    )


def test_tests_are_one_a_model_and_condition_and_controls_are_none_of_them() -> None:
    planned = grid(11, [0, 0.3, 0.5, 0.7, 1.0], "truncate", "generic_question", "header_only")
    expected = {"perturbation": 22, "temperature": 44, "model": 0, "format": 0}
    assert confirmatory_tests(planned) == expected


def test_format_is_a_test_of_its_own_and_no_model_more() -> None:
    planned = grid(2, [0, 1.0], "truncate")
    planned.models["m-1b+no_system"] = {}  # the second model is left out of it
    expected = {"perturbation": 2, "temperature": 2, "model": 0, "format": 1}
    assert confirmatory_tests(planned) == expected


def test_line_names_the_change_at_the_strictest_level_of_the_largest_set() -> None:
    line = smallest_effect(grid(2, [0, 1.0], "truncate", "generic_question"), 1319)
    expected = 100 * float(detectable_difference(1319, 0.1, 0.05 / 4))
    assert f"1,319 items detect a change of {expected:.1f} points" in line
    assert (
        "at the level 0.013, the strictest that Holm's adjustment asks of 4 tests of perturbation"
        in line
    )
    assert "\n" not in line


def test_more_models_can_see_only_larger_changes() -> None:
    few, many = (smallest_effect(grid(n, [0, 1.0]), 1319) for n in (1, 40))
    size = [float(line.split("change of ")[1].split()[0]) for line in (few, many)]
    assert size[0] < size[1]


@pytest.mark.parametrize(("n_items", "said"), [(3, "no change of any size"), (0, "none, since")])
def test_study_that_can_see_nothing_says_so(n_items: int, said: str) -> None:
    assert said in smallest_effect(grid(1, [0, 1.0]), n_items)
