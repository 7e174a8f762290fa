"""Tables of one model and dataset, or of one cell, collected by their names."""

from collections.abc import Iterable
from tempfile import TemporaryDirectory

from userturn.generation.ask_engine import Runner
from userturn.generation.collect import collect_table
from userturn.generation.load_engine import LoadedModel
from userturn.generation.sweep import complete_plans, sweep_plans
from userturn.sources.answers import answers_path
from userturn.sources.registry import asked
from userturn.study.cells import Cell, files_of
from userturn.study.grid import Grid


def collect_answers(grid: Grid, model: str, dataset: str, path: str) -> None:
    """Write a model's answers to a dataset."""
    collect_table(grid, asked(grid)[answers_path(model, dataset)], path)


def collect_user_turns(grid: Grid, cell: Cell, path: str) -> None:
    """Write the user turns of a cell."""
    collect_table(grid, asked(grid)[files_of([cell], "user_turns.parquet")[0]], path)


def ask_pending(
    grid: Grid, model: LoadedModel, shard: str, pending: Iterable[str], runner: Runner
) -> None:
    """Plan and complete what is pending, as a sweep does."""
    with TemporaryDirectory() as scratch:
        complete_plans(sweep_plans(grid, model, shard, pending, scratch), runner)
