"""The chance floor: turns of the cells, judged again after another item's answer."""

from collections.abc import Iterator, Sequence
from functools import partial

from userturn.prompts.perturbations import controls_of
from userturn.sources.job import Job, identity
from userturn.sources.source import (
    ITEMS,
    JudgeRule,
    Load,
    Sizes,
    Source,
    Turns,
    every_verdict,
    longest_exchange,
    requests,
)
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, by_source, files_of, verdicts_of
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
    for (model, dataset), cells in swapped_cells_of(grid).items():
        drawing = [n_swapped(grid), grid.config["seed"]]
        drawn_from = [grid.cell_identity(cell) for cell in cells]
        yield Turns(
            f"chance_floor/{model}/{dataset}",
            model,
            dataset,
            fingerprint([CHANCE_FLOOR_VERSION, drawn_from, drawing]),
            f"results/datasets/{dataset}.parquet",
            partial(_questions, grid, cells),
            tuple(files_of(cells, "user_turns.parquet")),
        )


def _questions(grid: Grid, cells: Sequence[Cell], sizes: Sizes) -> Load:
    size = sizes[cells[0].dataset]
    written = [size.n_items * grid.n_samples(cell.temperature) for cell in cells]
    n = sum(min(n_turns, n_swapped(grid)) for n_turns in written)
    return requests(n, size.n_tokens + longest_exchange(grid, cells[0].model))


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
INPUTS = {
    "swapped_verdicts": lambda grid: every_verdict(grid, judged(grid)),
    "unswapped_verdicts": lambda grid: [
        path
        for cells in swapped_cells_of(grid).values()
        for path in verdicts_of(cells, grid.judges)
    ],
}
SOURCE = Source(judged=judged, judge_rule=RULE, jobs=JOBS, inputs=INPUTS)
