"""Cells: user turns after a model's answers, at each temperature and under each perturbation."""

from collections.abc import Iterator
from functools import partial

from userturn.prompts.perturbations import needs_reference
from userturn.sources.answers import answers_path
from userturn.sources.source import (
    USER_TURNS,
    Asked,
    JudgeRule,
    Load,
    Sizes,
    Source,
    Turns,
    collecting,
    requests,
    turns_of,
)
from userturn.study.cells import Cell, files_of
from userturn.study.grid import Grid


def asked(grid: Grid) -> Iterator[Asked]:
    """Yield the user turns of each cell."""
    for cell in grid.cells:
        temperature = grid.temperatures[cell.temperature]
        yield Asked(
            files_of([cell], "user_turns.parquet")[0],
            cell.model,
            cell.dataset,
            grid.cell_identity(cell),
            USER_TURNS,
            partial(_requests, grid, cell),
            (answers_path(cell.model, cell.dataset),),
            grid.user_turn_settings(temperature),
            grid.n_samples(cell.temperature),
            {"temperature": temperature, "perturbation": cell.perturbation},
        )


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the user turns of each cell."""
    return map(turns_of, asked(grid))


def _requests(grid: Grid, cell: Cell, sizes: Sizes) -> Load:
    size, operator = sizes[cell.dataset], grid.perturbations[cell.perturbation]
    n_items = size.n_references if needs_reference(operator) else size.n_items
    before = size.n_tokens + grid.answer_settings(cell.model)["max_tokens"]
    written = grid.config["user_turn"]["max_tokens"]
    return requests(n_items * grid.n_samples(cell.temperature), before, written)


RULE = JudgeRule("judge", "cells/{model}/{dataset}/t{temperature}/{perturbation}")
JOBS = {
    "collect_user_turns": collecting(
        "Collect one cell's user turns from the journal.", RULE.user_turns
    )
}
SOURCE = Source(asked, judged, (RULE,), jobs=JOBS)
