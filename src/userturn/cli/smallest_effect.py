"""The smallest change that a planned study can detect, under its own multiplicity."""

from userturn.config.families import trainings
from userturn.config.formats import beside_default, in_default
from userturn.prompts.perturbations import controls_of
from userturn.stats.paired import POWER, detectable_difference
from userturn.stats.sample_size import level_of
from userturn.study.cells import PLAIN
from userturn.study.grid import Grid

DIFFERING = 0.1  # assumed share of items that are genuine under only one of two conditions


def confirmatory_tests(grid: Grid) -> dict[str, int]:
    """Return the number of tests in each set that Holm adjusts, by factor.

    The sets are those of `tables/contrasts`: one test per model over all datasets.
    """
    n_controls = len(controls_of(grid.perturbations))
    n_perturbations = len([name for name in grid.perturbations if name != PLAIN])
    n_models = len(in_default(grid.models))
    return {
        "perturbation": n_models * (n_perturbations - n_controls),
        "temperature": n_models * (len(grid.temperatures) - 1),
        "model": len(trainings(in_default(grid.models), grid.entries)),
        "format": len(beside_default(grid.models)),
    }


def smallest_change(n_items: int, n_tests: int) -> float:
    """Return the smallest change that one of several tests detects with a power of `POWER`."""
    return float(detectable_difference(n_items, DIFFERING, level_of(n_tests)))


def smallest_effect(grid: Grid, n_items: int) -> str:
    """Return in one line the smallest change that a study of `n_items` items can detect."""
    tests = confirmatory_tests(grid)
    factor = max(tests, key=lambda name: tests[name])
    n_tests = tests[factor]
    if not n_tests or not n_items:
        return "smallest effect: none, since no two conditions are compared on the same items"
    found = smallest_change(n_items, n_tests)
    size = f"a change of {100 * found:.1f} points" if found < 1 else "no change of any size"
    return (
        f"smallest effect: {n_items:,} items detect {size} with a power of {POWER:.0%} where "
        f"{DIFFERING:.0%} of them differ, at {level_of(n_tests):.2g}: Holm's first step of "
        f"{n_tests} tests of {factor}"
    )
