"""From the journal to a cell's table: one row a request of its plan, in the dataset's order."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from userturn.answers import split_reasoning
from userturn.cells import Cell
from userturn.errors import UserError
from userturn.grid import Grid
from userturn.journal import read_journal
from userturn.planning import read_plan
from userturn.tables import Schema, write_table

OUTCOME_SCHEMA: Schema = {
    "key": pl.String,
    "outcome": pl.String,
    "text": pl.String,
    "token_ids": pl.List(pl.Int32),
    "finish_reason": pl.String,
    "error": pl.String,
}


def collect(plan: pl.DataFrame, folder_of_journal: str | Path) -> pl.DataFrame:
    """Return the plan with the outcome of each of its requests.

    A row that could not be asked has the outcome `error` and the reason.

    Raises:
        UserError: a request of the plan has no record in the journal.
    """
    keys = set(plan["key"].drop_nulls())
    records = read_journal(folder_of_journal, keys, list(OUTCOME_SCHEMA)).records
    outcomes = pl.DataFrame(list(records.values()), schema=OUTCOME_SCHEMA)
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


def _collected(grid: Grid, coordinates: Mapping[str, str | float], identity: str) -> pl.DataFrame:
    model, dataset = str(coordinates["model"]), str(coordinates["dataset"])
    plan = read_plan(grid.requests_folder(model, dataset, identity))
    table = collect(plan, grid.journal_folder(model, dataset))
    what = "/".join(map(str, coordinates.values()))
    check_error_share(table, grid.config["max_error_share"], what)
    columns = [pl.lit(value).alias(name) for name, value in coordinates.items()]
    return table.select(*columns, *table.columns, n_tokens=pl.col("token_ids").list.len())


def collect_user_turns(grid: Grid, cell: Cell, path_to_user_turns: str) -> None:
    """Write the user turns of one cell."""
    temperature = grid.temperatures[cell.temperature]
    identity = grid.cell_identity(cell)
    table = _collected(grid, cell._asdict() | {"temperature": temperature}, identity)
    write_table(table, path_to_user_turns, identity)


def collect_answers(grid: Grid, model: str, dataset: str, path_to_answers: str) -> None:
    """Write a model's answers to a dataset, reasoning split off."""
    identity = grid.answers_identity(model, dataset)
    table = _collected(grid, {"model": model, "dataset": dataset}, identity)
    asked = zip(table["text"], table["prompt_text"], strict=True)
    split = [split_reasoning(text or "", prompt or "") for text, prompt in asked]
    table = table.drop("change", "sample").with_columns(
        pl.Series("answer", [part.text for part in split], dtype=pl.String),
        pl.Series("reasoning", [part.reasoning for part in split], dtype=pl.String),
    )
    write_table(table, path_to_answers, identity)
