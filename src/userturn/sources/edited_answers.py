"""Edited answers: turns of the cells, judged again where what they take up is another thing."""

from collections.abc import Iterator

from userturn.sources.drawn_turns import drawn_turns, verdicts_before_and_after
from userturn.sources.job import Job, identity
from userturn.sources.source import ITEMS, JudgeRule, Source, Turns
from userturn.study.cells import PLAIN, Cell, by_source
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
    yield from drawn_turns(grid, FOLDER, EDITED_VERSION, _cells(grid), n_edited(grid))


FOLDER = "edited/{model}/{dataset}"
RULE = JudgeRule("judge_edited", FOLDER)
JOBS = {
    "edit_answers": Job(
        "Exchange in the answer before some user turns of each cell what they take up from it.",
        "controls.swapped_answers.edit_answers",
        {"paths_to_user_turns": f"study.made_of({FOLDER})", "path_to_items": ITEMS},
        {"path_to_edited": RULE.user_turns},
        identity(f"identity({RULE.user_turns})"),
        {"n_turns": "controls.edited", "seed": "seed"},
    )
}
INPUTS = verdicts_before_and_after("unedited_verdicts", "edited_verdicts", judged, _cells)
SOURCE = Source(judged=judged, judge_rule=RULE, jobs=JOBS, inputs=INPUTS)
