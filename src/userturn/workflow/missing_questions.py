"""Which judges have a decision on every question already, so that none is served for nothing."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path

from userturn.sources.source import Turns
from userturn.storage.files import read_identity
from userturn.study.grid import Grid
from userturn.study.grid_elsewhere import asked_elsewhere, read_grid, states


def judges_without_questions(grid: Grid, pending: Mapping[str, Sequence[Turns]]) -> set[str]:
    """Return the judges of which no pending turn has a question without a decision.

    Turns that are not there yet have questions.

    Args:
        grid: the study's grid.
        pending: by judge, the turns whose verdicts are missing.
    """
    there = {judge: turns for judge, turns in pending.items() if turns and _are_there(grid, turns)}
    if not there:
        return set()
    paths = {_path(grid, of.path) for turns in there.values() for of in turns}
    journals = sorted((grid.results / "journal" / "judges").glob("*/*/[!.]*.jsonl"))
    state = [states(sorted(paths)), states(journals), grid.contents.rubric]
    found = asked_elsewhere(__name__, grid, {"judges": sorted(there)}, state)
    return set(found or ())


def _path(grid: Grid, path: str) -> Path:
    return grid.results / path.removeprefix("results/")


def _are_there(grid: Grid, turns: Iterable[Turns]) -> bool:
    return all(read_identity(_path(grid, of.path)) == of.identity for of in turns)


def main() -> None:
    """Read a grid and names of judges, and write those that have no question left, as JSON."""
    from userturn.workflow.run_size import questions_left  # reads tables
    from userturn.workflow.study import Study
    from userturn.workflow.study_size import dataset_sizes

    told = json.load(sys.stdin)
    with redirect_stdout(sys.stderr):
        grid = read_grid(told)
        study, sizes = Study(grid), dataset_sizes(grid)
        left = {judge: questions_left(study, judge, sizes).n for judge in told["judges"]}
    json.dump([judge for judge, n in left.items() if not n], sys.stdout)


if __name__ == "__main__":
    main()
