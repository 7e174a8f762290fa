"""Edited answers: turns of the cells, judged again where what they take up is another thing."""

from collections.abc import Iterator, Sequence
from functools import partial

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
from userturn.study.cells import PLAIN, Cell, by_source, files_of, verdicts_of
from userturn.study.grid import Grid

EDITED_VERSION = 1


def n_edited(grid: Grid) -> int:
    """Return how many turns of each cell are judged again; 0 in a study older than this."""
    return int(grid.config["controls"].get("edited", 0))


def _cells(grid: Grid) -> dict[tuple[str, str], list[Cell]]:
    """Return the unperturbed cells by model and dataset."""
    plain = [cell for cell in grid.cells if cell.perturbation == PLAIN]
    return by_source(plain) if n_edited(grid) else {}


def judged(grid: Grid) -> Iterator[Turns]:
    """Yield the turns after edited answers of each model and dataset."""
    for (model, dataset), cells in _cells(grid).items():
        drawing = [n_edited(grid), grid.config["seed"]]
        yield Turns(
            f"edited/{model}/{dataset}",
            model,
            dataset,
            fingerprint([EDITED_VERSION, [*map(grid.cell_identity, cells)], drawing]),
            f"results/datasets/{dataset}.parquet",
            partial(_questions, grid, cells),
            tuple(files_of(cells, "user_turns.parquet")),
        )


def _questions(grid: Grid, cells: Sequence[Cell], sizes: Sizes) -> Load:
    size = sizes[cells[0].dataset]
    written = [size.n_items * grid.n_samples(cell.temperature) for cell in cells]
    n = sum(min(n_turns, n_edited(grid)) for n_turns in written)
    return requests(n, size.n_tokens + longest_exchange(grid, cells[0].model))


FOLDER = "edited/{model}/{dataset}"
RULE = JudgeRule("judge_edited", FOLDER)
JOBS = {
    "edit_answers": Job(
        "Exchange in the answer before some user turns of each cell what they take up from it.",
        "controls.edited_answers.edit_answers",
        {"paths_to_user_turns": f"study.made_of({FOLDER})", "path_to_items": ITEMS},
        {"path_to_edited": RULE.user_turns},
        identity(f"identity({RULE.user_turns})"),
        {"n_turns": "controls.edited", "seed": "seed"},
    )
}
INPUTS = {
    "edited_verdicts": lambda grid: every_verdict(grid, judged(grid)),
    "unedited_verdicts": lambda grid: [
        path for cells in _cells(grid).values() for path in verdicts_of(cells, grid.judges)
    ],
}
SOURCE = Source(judged=judged, judge_rule=RULE, jobs=JOBS, inputs=INPUTS)
