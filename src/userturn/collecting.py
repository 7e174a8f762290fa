"""From the journal to a cell's table: one row a request of its plan, in the dataset's order."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from userturn.answers import split_reasoning
from userturn.cells import Cell
from userturn.errors import UserError
from userturn.grid import Grid
from userturn.outcomes import read_outcomes
from userturn.plans import read_plan
from userturn.tables import write_table


def collect(
    plan: pl.DataFrame, outcomes: pl.DataFrame, folder_of_journal: str | Path
) -> pl.DataFrame:
    """Return the plan with the outcome of each of its requests, as a journal tells.

    A row that could not be asked has the outcome `error` and the reason.

    Raises:
        UserError: a request of the plan has no record in the journal.
    """
    table = plan.join(outcomes, on="key", how="left", suffix="_asked", maintain_order="left")
    n_lost = table.filter(pl.col("key").is_not_null() & pl.col("outcome").is_null()).height
    if n_lost:
        raise UserError(
            f"{n_lost} of {plan.height} requests have no record in '{folder_of_journal}'; "
            "run the same command again, the sweep asks for them"
        )
    return table.with_columns(
        pl.col("outcome").fill_null("error"), error=pl.coalesce("error", "error_asked")
    ).drop("error_asked", "position")


def check_error_share(table: pl.DataFrame, max_error_share: float, what: str) -> None:
    """Refuse a table with too many errors.

    Raises:
        UserError: the share of rows with the outcome `error` is over `max_error_share`.
    """
    errors = table.filter(pl.col("outcome") == "error")
    if table.height and errors.height / table.height > max_error_share:
        raise UserError(
            f"{what}: {errors.height} of {table.height} requests ended in an error, "
            f"max_error_share allows {max_error_share:g}; the first: {errors['error'][0]}"
        )


def _collected(
    grid: Grid, coordinates: Mapping[str, str | float], identity: str, outcomes: pl.DataFrame | None
) -> pl.DataFrame:
    model, dataset = str(coordinates["model"]), str(coordinates["dataset"])
    journal = grid.journal_folder(model, dataset)
    plan = read_plan(grid.requests_folder(model, dataset, identity))
    if outcomes is None:
        outcomes = read_outcomes(journal, plan["key"])
    table = collect(plan, outcomes, journal)
    columns = [pl.lit(value).alias(name) for name, value in coordinates.items()]
    return table.select(*columns, *table.columns, n_tokens=pl.col("token_ids").list.len())


def user_turns_of(grid: Grid, cell: Cell, outcomes: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the user turns of one cell; `outcomes` are those of its journal if it was read."""
    coordinates = cell._asdict() | {"temperature": grid.temperatures[cell.temperature]}
    return _collected(grid, coordinates, grid.cell_identity(cell), outcomes)


def answers_of(
    grid: Grid, model: str, dataset: str, outcomes: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return a model's answers to a dataset, reasoning split off."""
    identity = grid.answers_identity(model, dataset)
    table = _collected(grid, {"model": model, "dataset": dataset}, identity, outcomes)
    asked = zip(table["text"], table["prompt_text"], strict=True)
    split = [split_reasoning(text or "", prompt or "") for text, prompt in asked]
    return table.drop("change", "sample").with_columns(
        pl.Series("answer", [part.text for part in split], dtype=pl.String),
        pl.Series("reasoning", [part.reasoning for part in split], dtype=pl.String),
    )


def collect_user_turns(grid: Grid, cell: Cell, path_to_user_turns: str) -> None:
    """Write the user turns of one cell."""
    table = user_turns_of(grid, cell)
    check_error_share(table, grid.config["max_error_share"], cell.folder)
    write_table(table, path_to_user_turns, grid.cell_identity(cell))


def collect_answers(grid: Grid, model: str, dataset: str, path_to_answers: str) -> None:
    """Write a model's answers to a dataset."""
    table = answers_of(grid, model, dataset)
    check_error_share(table, grid.config["max_error_share"], f"{model}/{dataset}")
    write_table(table, path_to_answers, grid.answers_identity(model, dataset))
