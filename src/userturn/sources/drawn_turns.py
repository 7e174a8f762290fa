"""Turns of the cells, some of which are drawn and judged again beside another answer.

Turns beside another item's answer are the chance floor. An edited answer no longer has what the
turn took up from it. An unseen answer is the item's own, beside a turn that was written without it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from userturn.prompts.perturbations import controls_of
from userturn.sources.source import (
    ITEMS,
    Job,
    JudgeRule,
    Load,
    Sizes,
    Source,
    Turns,
    every_verdict,
    identity,
    longest_exchange,
    requests,
)
from userturn.storage.hashing import fingerprint
from userturn.study.cells import PLAIN, Cell, files_of, group_by_source, verdicts_of
from userturn.study.grid import Grid

CHANCE_FLOOR_VERSION, EDITED_VERSION, UNSEEN_VERSION = 1, 1, 1  # of how turns are drawn
OfSource = Mapping[tuple[str, str], Sequence[Cell]]
NO_CELLS: OfSource = MappingProxyType({})


def _n_turns(grid: Grid, key: str) -> int:
    """Return how many turns per cell are judged again, or 0 in a study older than the key."""
    return int(grid.config["controls"].get(key, 0))


def swapped_cells_of(grid: Grid) -> OfSource:
    """Return the cells with a chance floor by model and dataset.

    Those are all except controls, which show no own answer.
    """
    controls = controls_of(grid.perturbations)
    measured = [cell for cell in grid.cells if cell.perturbation not in controls]
    return group_by_source(measured) if _n_turns(grid, "chance_floor") else {}


def _edited_cells_of(grid: Grid) -> OfSource:
    """Return the unperturbed cells by model and dataset."""
    plain = [cell for cell in grid.cells if cell.perturbation == PLAIN]
    return group_by_source(plain) if _n_turns(grid, "edited") else {}


def _unseen_cells_of(grid: Grid) -> OfSource:
    """Return the cells of controls, whose turns were written without the item's own answer.

    Each has an unperturbed cell at the same temperature, which has the answer.
    """
    if not _n_turns(grid, "unseen_answer") or PLAIN not in grid.perturbations:
        return {}
    controls = controls_of(grid.perturbations)
    return group_by_source(cell for cell in grid.cells if cell.perturbation in controls)


def _answering(cells: OfSource) -> OfSource:
    """Return the unperturbed cells at the temperatures of some cells."""
    return {
        of: list(dict.fromkeys(cell._replace(perturbation=PLAIN) for cell in mine))
        for of, mine in cells.items()
    }


def _turns_from_cells(
    grid: Grid,
    rule: JudgeRule,
    version: int,
    cells: OfSource,
    n_turns: int,
    answers: OfSource = NO_CELLS,
) -> Iterator[Turns]:
    """Yield the turns of each model and dataset, for which `n_turns` per cell are drawn.

    `answers` are further cells, whose answers they are judged after.
    """
    for (model, dataset), mine in cells.items():
        drawing = [n_turns, grid.config["seed"]]
        input_cells = [*mine, *answers.get((model, dataset), ())]
        yield Turns(
            rule.folder.format(model=model, dataset=dataset),
            model,
            dataset,
            fingerprint([version, [*map(grid.cell_identity, input_cells)], drawing]),
            ITEMS.format(dataset=dataset),
            partial(_questions, grid, mine, n_turns),
            tuple(files_of(input_cells, "user_turns.parquet")),
        )


def swapped(grid: Grid) -> Iterator[Turns]:
    """Yield the turns of each model and dataset beside other items' answers."""
    n_turns = _n_turns(grid, "chance_floor")
    return _turns_from_cells(grid, SWAPPED, CHANCE_FLOOR_VERSION, swapped_cells_of(grid), n_turns)


def edited(grid: Grid) -> Iterator[Turns]:
    """Yield the turns of each model and dataset after edited answers."""
    n_turns = _n_turns(grid, "edited")
    return _turns_from_cells(grid, EDITED, EDITED_VERSION, _edited_cells_of(grid), n_turns)


def unseen(grid: Grid) -> Iterator[Turns]:
    """Yield the turns of each model and dataset after answers that they were written without."""
    n_turns, cells = _n_turns(grid, "unseen_answer"), _unseen_cells_of(grid)
    return _turns_from_cells(grid, UNSEEN, UNSEEN_VERSION, cells, n_turns, _answering(cells))


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield all turns that are judged again."""
    yield from swapped(grid)
    yield from edited(grid)
    yield from unseen(grid)


def _questions(grid: Grid, cells: Sequence[Cell], n_turns: int, sizes: Sizes) -> Load:
    size = sizes[cells[0].dataset]
    written = [size.n_items * grid.n_samples(cell.temperature) for cell in cells]
    n = sum(min(n_written, n_turns) for n_written in written)
    return requests(n, size.n_tokens + longest_exchange(grid, cells[0].model))


def _verdicts_on(grid: Grid, cells: OfSource) -> list[str]:
    return [path for mine in cells.values() for path in verdicts_of(mine, grid.judges)]


SWAPPED = JudgeRule("judge_swapped", "chance_floor/{model}/{dataset}")
EDITED = JudgeRule("judge_edited", "edited/{model}/{dataset}")
UNSEEN = JudgeRule("judge_unseen", "unseen_answer/{model}/{dataset}")


def _drawing(does: str, function: str, output: str, rule: JudgeRule, key: str) -> Job:
    """Return the job that draws the turns of a rule, their number being a key of the controls."""
    return Job(
        does,
        f"controls.swapped_answers.{function}",
        {
            "paths_to_user_turns": f"study.paths_behind_turns({rule.folder})",
            "path_to_items": ITEMS,
        },
        {output: rule.user_turns},
        identity(f"identity({rule.user_turns})"),
        {"n_turns": f"controls.{key}", "seed": "seed"},
    )


JOBS = {
    "swap_answers": _drawing(
        "Replace the answer before some user turns of each cell by another item's.",
        "swap_answers",
        "path_to_swapped",
        SWAPPED,
        "chance_floor",
    ),
    "edit_answers": _drawing(
        "Exchange in the answer before some user turns of each cell what they take up from it.",
        "edit_answers",
        "path_to_edited",
        EDITED,
        "edited",
    ),
    "show_unseen_answers": _drawing(
        "Put before some user turns of each control the answer that they were written without.",
        "show_unseen_answers",
        "path_to_unseen",
        UNSEEN,
        "unseen_answer",
    ),
}
INPUTS = {
    "unswapped_verdicts": lambda grid: _verdicts_on(grid, swapped_cells_of(grid)),
    "swapped_verdicts": lambda grid: every_verdict(grid, swapped(grid)),
    "unedited_verdicts": lambda grid: _verdicts_on(grid, _edited_cells_of(grid)),
    "edited_verdicts": lambda grid: every_verdict(grid, edited(grid)),
    "seen_verdicts": lambda grid: _verdicts_on(grid, _answering(_unseen_cells_of(grid))),
    "unseen_verdicts": lambda grid: every_verdict(grid, unseen(grid)),
}
SOURCE = Source(judged=judged, judge_rules=(SWAPPED, EDITED, UNSEEN), jobs=JOBS, inputs=INPUTS)
