"""The chance floor: turns of the cells, judged again after another item's answer."""

from collections.abc import Iterator

from userturn.prompts.perturbations import controls_of
from userturn.sources.drawn_turns import drawn_turns, verdicts_before_and_after
from userturn.sources.job import Job, identity
from userturn.sources.source import ITEMS, JudgeRule, Source, Turns
from userturn.study.cells import Cell, by_source
from userturn.study.grid import Grid

CHANCE_FLOOR_VERSION = 1


def n_swapped(grid: Grid) -> int:
    """Return how many turns of each cell are judged again; 0 in a study older than the floor."""
    return int(grid.config["controls"].get("chance_floor", 0))


def swapped_cells_of(grid: Grid) -> dict[tuple[str, str], list[Cell]]:
    """Return the cells with a chance floor by model and dataset.

    Those are all except controls, which show no own answer.
    """
    controls = controls_of(grid.perturbations)
    measured = [cell for cell in grid.cells if cell.perturbation not in controls]
    return by_source(measured) if n_swapped(grid) else {}


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the turns with another item's answer of each model and dataset."""
    cells, n_turns = swapped_cells_of(grid), n_swapped(grid)
    yield from drawn_turns(grid, FOLDER, CHANCE_FLOOR_VERSION, cells, n_turns)


FOLDER = "chance_floor/{model}/{dataset}"
RULE = JudgeRule("judge_swapped", FOLDER)
JOBS = {
    "swap_answers": Job(
        "Replace the answer before some user turns of each cell by another item's.",
        "controls.swapped_answers.swap_answers",
        {"paths_to_user_turns": f"study.made_of({FOLDER})", "path_to_items": ITEMS},
        {"path_to_swapped": RULE.user_turns},
        identity(f"identity({RULE.user_turns})"),
        {"n_turns": "controls.chance_floor", "seed": "seed"},
    )
}
INPUTS = verdicts_before_and_after(
    "unswapped_verdicts", "swapped_verdicts", judged, swapped_cells_of
)
SOURCE = Source(judged=judged, judge_rule=RULE, jobs=JOBS, inputs=INPUTS)
