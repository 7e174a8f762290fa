"""The size of a study, and of what a run asks: requests by model, questions by judge."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from userturn.config.entries import EVERY_LANGUAGE
from userturn.datasets.messages import answer_to
from userturn.datasets.prepare import fetched, items_table
from userturn.generation.scorer import human_exchanges
from userturn.generation.scores import SCORED_ROW
from userturn.judges.decisions import former_decisions
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.kinds import format_of, kind_of
from userturn.sources.answers import grades_identity
from userturn.sources.registry import asked, asked_of, judged
from userturn.sources.source import (
    CHARACTERS_PER_TOKEN,
    SCORES,
    STAGES,
    Asked,
    Load,
    Size,
    Turns,
    requests,
)
from userturn.storage.files import read_identity
from userturn.storage.journal_table import finished_keys
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.wording import number_of
from userturn.workflow.study import Study

TOKENS_OF_AN_UNSEEN_ITEM = 250
CRITERIA_OF_AN_UNSEEN_ITEM = 12  # assumed for a dataset with rubrics until its rows are here


def dataset_sizes(grid: Grid) -> dict[str, Size]:
    """Return the size of each dataset of a study, also of datasets for controls and likelihood.

    Raises:
        UserError: a local file cannot be prepared.
    """
    return {name: dataset_size(grid, name) for name in grid.prepared_datasets}


def dataset_size(grid: Grid, dataset: str) -> Size:
    """Return a dataset's size, counted if it is here, else estimated from its config entry.

    Raises:
        UserError: its local file cannot be prepared.
    """
    items = planned_items(grid, dataset)
    if items is not None:
        return size_of(items)
    settings = grid.prepared_datasets[dataset]
    n_rows = settings.get("rows", settings.get("limit", 0))
    is_of_each = settings.get("language") == EVERY_LANGUAGE  # `limit` counts those of a language
    n_items = n_rows if is_of_each else min(n_rows, settings.get("limit", n_rows))
    n_tokens = TOKENS_OF_AN_UNSEEN_ITEM
    return Size(n_items, n_tokens, False, n_items, n_items, n_tokens)


def size_of(items: pl.DataFrame) -> Size:
    """Return the size of a prepared dataset."""

    def tokens_each(n_characters: int, n: int) -> float:
        return n_characters / CHARACTERS_PER_TOKEN / max(1, n)

    n_characters = sum(len(m["content"]) for messages in items["messages"] for m in messages)
    with_answers = items.select("messages", "reference_context").iter_rows()
    follow_ups = human_exchanges(items)
    n_follow_up_characters = sum(
        len(e.answer.text) + len(e.turn) + sum(len(m["content"]) for m in e.prompt)
        for e in follow_ups
    )
    return Size(
        items.height,
        tokens_each(n_characters, items.height),
        True,
        sum(answer_to(*row) is not None for row in with_answers),
        len(follow_ups),
        tokens_each(n_follow_up_characters, len(follow_ups)),
    )


def planned_items(grid: Grid, dataset: str) -> pl.DataFrame | None:
    """Return the table of a dataset's items, prepared or from its local file, else None.

    Raises:
        UserError: its local file cannot be prepared.
    """
    settings, path = grid.prepared_datasets[dataset], grid.dataset_path(dataset)
    if read_identity(path) is not None:  # whole, and ours
        return pl.read_parquet(path)
    if "hub" in settings:
        return None
    return items_table(grid.dataset_settings(dataset), fetched(settings))


def total(loads: Iterable[Load]) -> Load:
    """Return the sum of loads."""
    return sum(loads, start=Load())


def load_of_model(grid: Grid, model: str, sizes: Mapping[str, Size]) -> dict[str, Load]:
    """Return the load of requests to a model, by kind (answers, user turns, scores)."""
    loads: dict[str, Load] = {}
    for of in asked_of(grid, model):
        loads[of.kind] = loads.get(of.kind, Load()) + of.count(sizes)
    return loads


def load_of_judge(grid: Grid, judge: str, sizes: Mapping[str, Size]) -> Load:
    """Return the load of questions to a judge, about user turns of every source and by rubrics."""
    turns = judged(grid).values() if judge in grid.judges else ()
    rubrics = (_rubrics(grid, name, sizes[name]) for name in grid.datasets
               if grid.grader(name) == judge)  # fmt: skip
    return total(of.count(sizes) for of in turns) + total(rubrics)


def cost_of_judge(grid: Grid, name: str, sizes: Mapping[str, Size]) -> dict[str, Any]:
    """Return how often a judge is asked, and what this costs at the price in its entry.

    `price` is per million tokens: {input: 0.75, output: 4.5}.
    """
    calls, entry = load_of_judge(grid, name, sizes), grid.all_judges[name]
    about, most = kind_of(entry).price(entry, calls.n, calls.n_read) or (None, None)
    return {"judge": name, "calls": calls.n, "cost_about": about, "cost_at_most": most}


def _rubrics(grid: Grid, dataset: str, size: Size) -> Load:
    """Return the load of questions on criteria, about all models' answers to a dataset."""
    n, answers = n_criteria(grid, dataset, size), [grid.answer_settings(m) for m in grid.models]
    return total(requests(n, size.n_tokens + answer["max_tokens"]) for answer in answers)


def n_criteria(grid: Grid, dataset: str, size: Size) -> int:
    """Return the number of criteria of a dataset's items, estimated if it is not here."""
    path = grid.dataset_path(dataset)
    if not path.is_file():
        return size.n_items * CRITERIA_OF_AN_UNSEEN_ITEM
    arguments = pl.read_parquet(path, columns=["verifier_arguments"])["verifier_arguments"]
    return sum(len(json.loads(text).get("rubrics") or ()) for text in arguments.drop_nulls())


NAMES = dict(zip(STAGES, ("answer", "user turn", "score"), strict=True))


class Left(NamedTuple):
    """A number of requests or questions, an upper limit if some wait for missing inputs."""

    n: int = 0
    is_at_most: bool = False

    def plus(self, other: "Left") -> "Left":
        """Return the sum of both."""
        return Left(self.n + other.n, self.is_at_most or other.is_at_most)

    def told(self, name: str) -> str:
        """Return the number with a noun, such as "at most 3 requests"."""
        return f"{'at most ' if self.is_at_most else ''}{number_of(self.n, name)}"


def planned_keys(folder: Path, kind: str) -> list[str | None]:
    """Return the key of every row of the plans in a folder, None for a row without one.

    A row that is in several plans, since the number of shards changed, is counted once.
    """
    row = SCORED_ROW if kind == SCORES else ("item", "sample")
    paths = sorted(folder.glob("[!.]*.parquet"))
    plans = [pl.read_parquet(path, columns=[*row, "key"]) for path in paths]
    return pl.concat(plans).unique(row)["key"].to_list() if plans else []


def requests_left(study: Study, model: str, sizes: Mapping[str, Size]) -> dict[str, Left]:
    """Return how many requests without a reply a run sends to a model, by kind."""
    left: dict[str, Left] = {}
    counted: set[str] = set()
    forecast = study.pending.forecasts.get(model, {"is_known": False})
    for of in (of for of in study.pending.tables.values() if of.model == model):
        if forecast["is_known"]:
            n_missing = forecast["missing"].get(of.identity, 0)
            more = Left(n_missing, n_missing > 0)
        else:
            missing = _missing(study.grid, of, counted)
            more = Left(of.count(sizes).n, True) if missing is None else Left(len(missing))
            counted |= missing or set()
        left[of.kind] = left.get(of.kind, Left()).plus(more)
    return left


def _missing(grid: Grid, of: Asked, counted: set[str]) -> set[str] | None:
    """Return a table's keys that have no reply and are not in `counted`, or None without a plan."""
    folder = grid.requests_folder(of.model, of.dataset, of.identity)
    if not all((folder / f"{shard}.parquet").is_file() for shard in grid.shards(of.model)):
        return None
    keys = {key for key in planned_keys(folder, of.kind) if key is not None} - counted
    there = finished_keys(grid.journal_folder(of.model, of.dataset), pl.Series(sorted(keys)))
    return keys - there


def questions_left(study: Study, judge: str, sizes: Mapping[str, Size]) -> Left:
    """Return how many questions a run asks a judge, about user turns and by rubrics."""
    left, counted = Left(), set[str]()
    for turns in study.judges.unjudged(judge):
        left = left.plus(_questions(study.grid, judge_of(study.grid, judge), turns, sizes, counted))
    return left.plus(_rubric_questions(study.grid, judge, sizes))


def judges_without_questions(grid: Grid, judges: Iterable[str]) -> list[str]:
    """Return the names of judges that a run does not ask, for `asked_elsewhere`."""
    study, sizes = Study(grid), dataset_sizes(grid)
    return [judge for judge in judges if not questions_left(study, judge, sizes).n]


def _questions(
    grid: Grid, judge: Judge, turns: Turns, sizes: Mapping[str, Size], counted: set[str]
) -> Left:
    """Return how many new questions a table of turns has, and add their keys to `counted`."""
    paths = [grid.at(path) for path in (turns.path, turns.items)]
    if read_identity(paths[0]) != turns.identity or not paths[1].is_file():
        return Left(turns.count(sizes).n, True)
    if kind_of(judge.settings).IS_DETERMINISTIC:
        outcomes = pl.read_parquet(paths[0], columns=["outcome"])["outcome"]
        return Left(int((outcomes != "error").sum()))
    cell = CellToJudge(str(paths[0]), str(paths[1]))
    if not pl.read_parquet(paths[0], columns=["item"]).height:
        return Left()
    from userturn.judges.endpoint_verdicts import keys_and_decisions  # an HTTP client, .2 CPU s

    keys, decisions = keys_and_decisions(judge, format_of(judge).prompt, cell)
    new = {key for key in keys if key is not None and not decisions.is_finished(key)} - counted
    new -= {record["key"] for record in former_decisions(judge, turns.dataset, decisions)}
    counted |= new
    return Left(len(new))


def _rubric_questions(grid: Grid, judge: str, sizes: Mapping[str, Size]) -> Left:
    """Return an upper limit of the questions for grades by rubrics that are missing."""
    graded = [
        of
        for of in asked(grid).values()
        if of.grades
        and grid.grader(of.dataset) == judge
        and read_identity(grid.at(of.grades)) != grades_identity(grid, of)
    ]
    n = sum(n_criteria(grid, of.dataset, sizes[of.dataset]) for of in graded)
    return Left(n, bool(n))


def run_size(study: Study) -> str:
    """Return what a run asks as text, a line per model and judge."""
    sizes = dataset_sizes(study.grid)
    lines = [*_model_lines(study, sizes), *_judge_lines(study, sizes)]
    return "\n".join(["this run asks", *lines] if lines else ["this run asks nothing"])


def _model_lines(study: Study, sizes: Mapping[str, Size]) -> Iterator[str]:
    for model in study.grid.models:
        left = requests_left(study, model, sizes)
        told = [left[kind].told(NAMES[kind]) for kind in STAGES if left.get(kind, Left()).n]
        if told:
            yield f"  {model:<24} {', '.join(told)}"


def _judge_lines(study: Study, sizes: Mapping[str, Size]) -> Iterator[str]:
    for judge in study.grid.asked_judges:
        left = questions_left(study, judge, sizes)
        if left.n:
            yield f"  {judge:<24} {left.told('question')} about turns and by rubrics"
