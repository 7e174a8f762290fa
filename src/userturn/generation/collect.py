"""Turn journal records into a cell's table: one row per planned request, in dataset order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import polars as pl

from userturn.errors import UserError
from userturn.generation.plan_files import PLAN_SCHEMA, plan_keys, read_plan
from userturn.generation.reasoning import ANY_FORM, read_answer
from userturn.prompts.answer_form import AnswerForm
from userturn.prompts.perturbations import NO_REFERENCE
from userturn.storage.journal_table import OUTCOME_SCHEMA, Journal, read_outcomes
from userturn.storage.key_columns import CELL_COLUMNS
from userturn.storage.parquet import PLAN_SLICE, SLICE, Schema, slices, write_parts
from userturn.study.asks import UNKNOWN
from userturn.study.cells import Cell
from userturn.study.finished_requests import (
    LostRecordsError,
    swept_again_if_lost,
    written_plans,
)
from userturn.study.grid import Grid
from userturn.study.model_description import read_description
from userturn.study.replies import NAMES, journal_of, scan_plans

USER_TURNS_SCHEMA: Schema = {
    **CELL_COLUMNS,
    **{name: kind for name, kind in PLAN_SCHEMA.items() if name not in ("position", *NAMES)},
    **{name: kind for name, kind in OUTCOME_SCHEMA.items() if name not in PLAN_SCHEMA},
    "n_tokens": pl.UInt32,
}
OF_USER_TURNS = ("temperature", "perturbation", "sample", "change")
ANSWERS_SCHEMA: Schema = {
    **{name: kind for name, kind in USER_TURNS_SCHEMA.items() if name not in OF_USER_TURNS},
    "reasoning": pl.String,
}
SHOWN = ["item", "sample", "prompt_end", "outcome", "text", "token_ids"]
SHOWN_SCHEMA: Schema = {
    **{name: OUTCOME_SCHEMA[name] for name in ("key", "outcome", "text", "token_ids")},
    "prompt_end": pl.String,
}


def collect(plan: pl.DataFrame, outcomes: pl.DataFrame) -> pl.DataFrame:
    """Join a plan with the outcome of each request: one row per row of the plan.

    A row without a request has the outcome `error` and the reason.
    """
    table = plan.join(outcomes, on="key", how="left", suffix="_asked", maintain_order="left")
    return table.with_columns(
        pl.col("outcome").fill_null("error"), error=pl.coalesce("error", "error_asked")
    ).drop("error_asked", "position", *NAMES)


def shown_answers(
    plans: Sequence[Path], journal: Journal, form: AnswerForm = ANY_FORM
) -> dict[str, str | None]:
    """Map each item to the answer that the model is shown as its own; None where it has none."""
    return {item: text for (item, _), text in shown_samples(plans, journal, form).items()}


def shown_samples(
    plans: Sequence[Path], journal: Journal, form: AnswerForm = ANY_FORM
) -> dict[tuple[str, int], str | None]:
    """Map each item and sample to the answer that is shown; None where there is none."""
    keys = plan_keys(plans)
    outcomes = read_outcomes(journal, keys, schema=SHOWN_SCHEMA)
    shown: dict[tuple[str, int], str | None] = {}
    columns = ["item", "sample", "key", "prompt_text"]
    asked_for = [slices(scan_plans([path]).select(columns), PLAN_SLICE) for path in plans]
    for asked in chain.from_iterable(asked_for):
        rows = asked.join(outcomes, on="key", how="left")
        rows = rows.with_columns(pl.coalesce("prompt_end", "prompt_text"))
        for item, sample, prompt, outcome, text, ids in rows.select(SHOWN).iter_rows():
            if outcome not in ("ok", "empty") or text == UNKNOWN:
                shown[item, sample] = None if outcome != "ok" else UNKNOWN
                continue
            answer = read_answer(text, prompt or "", ids, form)
            shown[item, sample] = None if answer.error else answer.text
    return shown


def check_complete(keys: pl.Series, outcomes: pl.DataFrame, folder_of_journal: Path) -> None:
    """Raise an error if a plan has requests that were never sent.

    Raises:
        LostRecordsError: a key of the plan has no record in the journal.
    """
    n_lost = len(keys) - keys.is_in(outcomes["key"].implode()).sum()
    if n_lost:
        raise LostRecordsError(
            f"{n_lost} of {len(keys)} requests have no record in '{folder_of_journal}'; "
            "run the same command again, the sweep will send them"
        )


def within_error_share(
    parts: Iterable[pl.DataFrame], max_error_share: float, what: str
) -> Iterator[pl.DataFrame]:
    """Yield the parts of a table; raise after the last one if it has too many errors.

    Turns that a dataset leaves out, since it has no answer to show, are not among these.

    Raises:
        UserError: the share of rows with the outcome `error` is over `max_error_share`.
    """
    n_rows, errors = 0, []
    for part in parts:
        n_rows += part.height
        is_failure = pl.col("error").ne_missing(NO_REFERENCE)
        failed = part.filter(pl.col("outcome") == "error", is_failure)
        errors += failed["error"].to_list()
        yield part
    if len(errors) > max_error_share * n_rows:
        raise UserError(
            f"{what}: {len(errors)} of {n_rows} requests ended in an error, "
            f"max_error_share allows {max_error_share:g}; the first: {errors[0]}"
        )


def collected(
    grid: Grid, coordinates: Mapping[str, str | float], identity: str, outcomes: pl.DataFrame | None
) -> Iterator[pl.DataFrame]:
    """Yield the rows of the plan of an identity with what the journal has, a part at a time.

    `coordinates` are the first columns, with one value each; they name model and dataset.
    """
    model, dataset = str(coordinates["model"]), str(coordinates["dataset"])
    journal = grid.journal_folder(model, dataset)
    folder = grid.requests_folder(model, dataset, identity)
    plans = written_plans(folder)
    keys = plan_keys(plans)
    if outcomes is None:
        outcomes = read_outcomes(journal_of(grid, model, dataset, plans), keys)
    check_complete(keys, outcomes, journal)
    for plan in read_plan(folder, SLICE):
        table = collect(plan, outcomes)
        columns = [pl.lit(value).alias(name) for name, value in coordinates.items()]
        yield table.select(*columns, *table.columns, n_tokens=pl.col("token_ids").list.len())


def user_turns_of(
    grid: Grid,
    cell: Cell,
    outcomes: pl.DataFrame | None = None,
    identity: str | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the table of one cell's user turns, a part at a time.

    Args:
        grid: the study's grid.
        cell: one cell of the grid.
        outcomes: the outcomes in the cell's journal, if it was already read.
        identity: of a further depth of the cell's conversations, instead of the cell's own.

    Raises:
        LostRecordsError: a request of the plan has no record in the journal.
    """
    coordinates = cell._asdict() | {"temperature": grid.temperatures[cell.temperature]}
    return collected(grid, coordinates, identity or grid.cell_identity(cell), outcomes)


def answers_of(
    grid: Grid,
    model: str,
    dataset: str,
    outcomes: pl.DataFrame | None = None,
    identity: str | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the table of a model's answers to a dataset, with the reasoning in its own column.

    With the identity of a further depth of self-play, its answers to its own user turns.
    """
    identity = identity or grid.answers_identity(model, dataset)
    form = AnswerForm.of(read_description(grid, model))
    for table in collected(grid, {"model": model, "dataset": dataset}, identity, outcomes):
        yield with_reasoning(table, form).drop("change", "sample")


def with_reasoning(table: pl.DataFrame, form: AnswerForm) -> pl.DataFrame:
    """Return answers with `answer`, what is shown of each, and its `reasoning`."""
    asked = table.select("text", "prompt_text", "token_ids").iter_rows()
    split = [read_answer(text or "", prompt or "", ids or (), form) for text, prompt, ids in asked]
    faults = pl.Series("fault", [part.error for part in split], dtype=pl.String)
    return table.with_columns(
        pl.Series("answer", [part.text for part in split], dtype=pl.String),
        pl.Series("reasoning", [part.reasoning for part in split], dtype=pl.String),
        outcome=pl.when(faults.is_null()).then("outcome").otherwise(pl.lit("error")),
        error=pl.coalesce("error", faults),
    )


def collect_user_turns(grid: Grid, cell: Cell, path_to_user_turns: str) -> None:
    """Write the user turns of one cell."""
    parts = within_error_share(
        user_turns_of(grid, cell), grid.config["max_error_share"], cell.folder
    )
    with swept_again_if_lost(grid, cell.model):
        write_parts(parts, path_to_user_turns, grid.cell_identity(cell))


def collect_answers(grid: Grid, model: str, dataset: str, path_to_answers: str) -> None:
    """Write a model's answers to a dataset."""
    parts = within_error_share(
        answers_of(grid, model, dataset), grid.config["max_error_share"], f"{model}/{dataset}"
    )
    with swept_again_if_lost(grid, model):
        write_parts(parts, path_to_answers, grid.answers_identity(model, dataset))
