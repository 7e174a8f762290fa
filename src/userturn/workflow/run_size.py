"""What a run asks before it asks it: requests by model and kind, questions by judge."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from userturn.generation.collect_scores import SCORED_ROW
from userturn.judges.decisions import former_decisions
from userturn.judges.endpoint_verdicts import keys_and_decisions
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.kinds import format_of, kind_of
from userturn.sources.answers import grades_identity
from userturn.sources.registry import asked, judged, verdicts_identity
from userturn.sources.source import SCORES, STAGES, Asked, Size, Turns
from userturn.storage.files import read_identity
from userturn.storage.journal_table import finished_keys
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.wording import number_of
from userturn.workflow.study import Study
from userturn.workflow.study_size import dataset_sizes, n_criteria

NAMES = dict(zip(STAGES, ("answer", "user turn", "score"), strict=True))


class Left(NamedTuple):
    """A number of requests or questions; it may be less where some wait for what is not there."""

    n: int = 0
    is_at_most: bool = False

    def plus(self, other: "Left") -> "Left":
        """Return both together."""
        return Left(self.n + other.n, self.is_at_most or other.is_at_most)

    def told(self, name: str) -> str:
        """Return the number of what has a name, in words."""
        return f"{'at most ' if self.is_at_most else ''}{number_of(self.n, name)}"


def planned_keys(folder: Path, kind: str) -> list[str | None]:
    """Return the key of every row of the request tables in a folder, None for one without.

    A study whose shards changed has some rows twice.
    """
    row = SCORED_ROW if kind == SCORES else ("item", "sample")
    paths = sorted(folder.glob("[!.]*.parquet"))
    found = [pl.read_parquet(path, columns=[*row, "key"]) for path in paths]
    return pl.concat(found).unique(row)["key"].to_list() if found else []


def requests_left(study: Study, model: str, sizes: Mapping[str, Size]) -> dict[str, Left]:
    """Return the requests that a run sends to a model, by kind; nothing that its journal has."""
    left: dict[str, Left] = {}
    known: set[str] = set()
    forecast = study.pending.forecasts.get(model, {"is_known": False})
    for of in (of for of in study.pending.tables.values() if of.model == model):
        if forecast["is_known"]:
            n_missing = forecast["missing"].get(of.identity, 0)
            more = Left(n_missing, n_missing > 0)
        else:
            found = _missing(study.grid, of, known)
            more = Left(of.count(sizes).n, True) if found is None else Left(len(found))
            known |= found or set()
        left[of.kind] = left.get(of.kind, Left()).plus(more)
    return left


def _missing(grid: Grid, of: Asked, known: set[str]) -> set[str] | None:
    """Return the keys of a table without a reply that are not known; None if it is not planned."""
    folder = grid.requests_folder(of.model, of.dataset, of.identity)
    if not all((folder / f"{shard}.parquet").is_file() for shard in grid.shards(of.model)):
        return None
    keys = {key for key in planned_keys(folder, of.kind) if key is not None} - known
    there = finished_keys(grid.journal_folder(of.model, of.dataset), pl.Series(sorted(keys)))
    return keys - there


def questions_left(study: Study, judge: str, sizes: Mapping[str, Size]) -> Left:
    """Return the questions that a run asks a judge: about turns of every source, and by rubrics."""
    left, known = Left(), set[str]()
    for turns in _unjudged(study, judge):
        left = left.plus(_questions(study, judge_of(study.grid, judge), turns, sizes, known))
    return left.plus(_rubric_questions(study.grid, judge, sizes))


def _unjudged(study: Study, judge: str) -> Iterator[Turns]:
    grid = study.grid
    for turns in judged(grid).values() if judge in grid.judges else ():
        path = grid.results / turns.verdicts(judge).removeprefix("results/")
        is_usable = turns.dataset not in study.pending.unusable
        if is_usable and read_identity(path) != verdicts_identity(grid, turns, judge):
            yield turns


def _questions(
    study: Study, judge: Judge, turns: Turns, sizes: Mapping[str, Size], known: set[str]
) -> Left:
    """Return the questions about a table of turns that no table before it has; adds to `known`."""
    results = study.grid.results
    paths = [results / path.removeprefix("results/") for path in (turns.path, turns.items)]
    if read_identity(paths[0]) != turns.identity or not paths[1].is_file():
        return Left(turns.count(sizes).n, True)
    if kind_of(judge.settings).IS_DETERMINISTIC:
        outcomes = pl.read_parquet(paths[0], columns=["outcome"])["outcome"]
        return Left(int((outcomes != "error").sum()))
    cell = CellToJudge(str(paths[0]), str(paths[1]))
    if not pl.read_parquet(paths[0], columns=["item"]).height:
        return Left()
    keys, decisions = keys_and_decisions(judge, format_of(judge).prompt, cell)
    new = {key for key in keys if key is not None and not decisions.is_finished(key)} - known
    new -= {record["key"] for record in former_decisions(judge, turns.dataset, decisions)}
    known |= new
    return Left(len(new))


def _rubric_questions(grid: Grid, judge: str, sizes: Mapping[str, Size]) -> Left:
    """Return the questions about the criteria of answers whose grades are missing, at most."""
    graded = [
        of
        for of in asked(grid).values()
        if of.grades
        and grid.grader(of.dataset) == judge
        and read_identity(grid.results / of.grades.removeprefix("results/"))
        != grades_identity(grid, of)
    ]
    n = sum(n_criteria(grid, of.dataset, sizes[of.dataset]) for of in graded)
    return Left(n, bool(n))


def run_size(study: Study) -> str:
    """Return what a run asks as text, a line for each model and judge that it asks."""
    sizes = dataset_sizes(study.grid)
    lines = [*_of_models(study, sizes), *_of_judges(study, sizes)]
    return "\n".join(["this run asks", *lines] if lines else ["this run asks nothing"])


def _of_models(study: Study, sizes: Mapping[str, Size]) -> Iterator[str]:
    for model in study.grid.models:
        left = requests_left(study, model, sizes)
        told = [left[kind].told(NAMES[kind]) for kind in STAGES if left.get(kind, Left()).n]
        if told:
            yield f"  {model:<24} {', '.join(told)}"


def _of_judges(study: Study, sizes: Mapping[str, Size]) -> Iterator[str]:
    for judge in study.grid.asked_judges:
        left = questions_left(study, judge, sizes)
        if left.n:
            yield f"  {judge:<24} {left.told('question')} about turns and by rubrics"
