"""Turn journal records into tables: one row per planned request, in dataset order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import polars as pl

from userturn.config.formats import is_chat
from userturn.datasets.messages import ShownAnswer
from userturn.errors import UserError
from userturn.generation.plan_files import PLAN_SCHEMA, plan_keys, read_plan
from userturn.generation.reasoning import ANY_LAYOUT, read_answer
from userturn.generation.scores import check_complete, scores_of
from userturn.prompts.answer_layout import AnswerLayout
from userturn.prompts.perturbations import NO_REFERENCE
from userturn.sources.source import SCORES, USER_TURNS, Asked
from userturn.storage.files import read_identity
from userturn.storage.journal_table import OUTCOME_SCHEMA, Journal, read_outcomes
from userturn.storage.table_files import (
    CELL_COLUMNS,
    PLAN_SLICE,
    SLICE,
    Schema,
    slices,
    write_parts,
)
from userturn.study.asks import NAMES, UNKNOWN, ForecastGrid, journal_of, scan_plans
from userturn.study.grid import Grid
from userturn.study.model_description import read_description
from userturn.study.sweep_notes import swept_again_if_lost, written_plans

Shown = Mapping[tuple[str, int], ShownAnswer | None]
"""The answer that is shown, by item and sample; None where there is none."""

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
CANDIDATES_SCHEMA: Schema = {
    **{n: kind for n, kind in USER_TURNS_SCHEMA.items() if n in (*ANSWERS_SCHEMA, "sample")},
    "reasoning": pl.String,
}
ANSWERED = ("ok", "empty")  # outcomes of a request that the model has replied to
CUT_REASONING = "it was cut inside its reasoning, before its first word"
SHOWN = ["item", "sample", "prompt_end", "outcome", "text", "token_ids"]
SHOWN_SCHEMA: Schema = {
    **{name: OUTCOME_SCHEMA[name] for name in ("key", "outcome", "text", "token_ids")},
    "prompt_end": pl.String,
}


def collect(plan: pl.DataFrame, outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return a plan joined with the outcome of each request, one row per row of the plan.

    A row without a request has the outcome `error` and the reason.
    """
    table = plan.join(outcomes, on="key", how="left", suffix="_asked", maintain_order="left")
    return table.with_columns(
        pl.col("outcome").fill_null("error"), error=pl.coalesce("error", "error_asked")
    ).drop("error_asked", "position", *NAMES)


def shown_samples(
    plans: Sequence[Path], journal: Journal, layout: AnswerLayout = ANY_LAYOUT
) -> dict[tuple[str, int], ShownAnswer | None]:
    """Return the answers to show of plans, by item and sample, with None for a missing answer."""
    keys = plan_keys(plans)
    outcomes = read_outcomes(journal, keys, schema=SHOWN_SCHEMA)
    answers: dict[tuple[str, int], ShownAnswer | None] = {}
    columns = ["item", "sample", "key", "prompt_text"]
    asked_for = [slices(scan_plans([path]).select(columns), PLAN_SLICE) for path in plans]
    for asked in chain.from_iterable(asked_for):
        rows = asked.join(outcomes, on="key", how="left")
        rows = rows.with_columns(pl.coalesce("prompt_end", "prompt_text"))
        for item, sample, prompt, outcome, text, ids in rows.select(SHOWN).iter_rows():
            if outcome not in ANSWERED or text == UNKNOWN:
                answers[item, sample] = None if outcome != "ok" else ShownAnswer(UNKNOWN)
                continue
            answer = read_answer(text, prompt or "", ids, layout)
            answers[item, sample] = None if answer.error else layout.shown(*answer[:2])
    return answers


def answers_shown(answers: pl.DataFrame, layout: AnswerLayout) -> Shown:
    """Return a table's answers to show, by item and sample, with None for a missing answer.

    `layout` belongs to the model that is shown the answers as its own. Answers of another model
    have the common layout, and their reasoning is not shown.
    """
    sample = "sample" if "sample" in answers.columns else pl.lit(0).alias("sample")
    rows = answers.select("item", sample, "outcome", "answer", "reasoning").iter_rows()
    return {
        (item, n): layout.shown(*texts) if outcome in ANSWERED else None
        for item, n, outcome, *texts in rows
    }


def answers_of_another(grid: Grid, answers: Asked) -> Shown:
    """Return the texts of another model's answers, as a user sees them, by item and sample.

    Raises:
        UserError: the table is missing or has another identity than the configuration asks for.
    """
    path = grid.results / answers.path.removeprefix("results/")
    if read_identity(path) == answers.identity:
        return answers_shown(pl.read_parquet(path), AnswerLayout())
    if isinstance(grid, ForecastGrid):
        items = pl.read_parquet(grid.dataset_path(answers.dataset), columns=["item"])["item"]
        return {(item, 0): ShownAnswer(UNKNOWN) for item in items}
    raise UserError(
        f"'{path}' is missing or of another configuration; run snakemake for it, which then goes "
        "on with the user turns after these answers"
    )


def check_errors(
    parts: Iterable[pl.DataFrame], max_error_share: float, what: str
) -> Iterator[pl.DataFrame]:
    """Yield the parts of a table, and raise after the last one if too many rows are errors.

    Turns that are left out because the dataset has no answer to show are no errors.

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


def table_of(grid: Grid, of: Asked, outcomes: pl.DataFrame | None = None) -> Iterator[pl.DataFrame]:
    """Yield a table of answers, user turns or scores, a part at a time.

    Answers have the reasoning in its own column, and `sample` only where there are several.
    `outcomes` are the journal's, if it was already read. Scores need none.

    Raises:
        LostRecordsError: a request of the plan has no record in the journal.
    """
    if of.kind == SCORES:
        yield from scores_of(grid, of)
    elif of.kind == USER_TURNS:
        yield from _joined(grid, of, outcomes)
    else:
        answer_layout = AnswerLayout.recorded(read_description(grid, of.model))
        left_out = ("change", "sample") if of.n_samples == 1 else ("change",)
        for table in _joined(grid, of, outcomes):
            yield add_reasoning(table, answer_layout).drop(left_out)


def _joined(grid: Grid, of: Asked, outcomes: pl.DataFrame | None) -> Iterator[pl.DataFrame]:
    folder = grid.requests_folder(of.model, of.dataset, of.identity)
    plans = written_plans(folder)
    keys = plan_keys(plans)
    if outcomes is None:
        outcomes = read_outcomes(journal_of(grid, of.model, of.dataset, plans), keys)
    check_complete(keys, outcomes, grid.journal_folder(of.model, of.dataset))
    names = {"model": of.model, "dataset": of.dataset, **of.cell}
    columns = [pl.lit(value).alias(name) for name, value in names.items()]
    n_tokens = pl.col("token_ids").list.len()
    if is_chat(grid.models[of.model]):  # its tokens are the stand-in's bytes, not the server's
        n_tokens = pl.lit(None, USER_TURNS_SCHEMA["n_tokens"])
    for plan in read_plan(folder, SLICE):
        table = collect(plan, outcomes)
        yield table.select(*columns, *table.columns, n_tokens=n_tokens)


def add_reasoning(table: pl.DataFrame, layout: AnswerLayout) -> pl.DataFrame:
    """Return answers with the columns `answer`, which a user sees, and `reasoning`.

    The outcome is `error` where no answer can be read, and `empty` where it was cut in its
    reasoning, if `layout` says so; `error` has the reason.
    """
    rows = table.select("text", "prompt_text", "token_ids").iter_rows()
    split = [read_answer(text or "", prompt or "", ids or (), layout) for text, prompt, ids in rows]
    faults = pl.Series("fault", [part.error for part in split], dtype=pl.String)
    told = layout.names_cut_reasoning
    is_cut = [told and not part.text and part.reasoning is not None for part in split]
    cut = pl.Series("cut", is_cut, dtype=pl.Boolean)
    return table.with_columns(
        pl.Series("answer", [part.text for part in split], dtype=pl.String),
        pl.Series("reasoning", [part.reasoning for part in split], dtype=pl.String),
        outcome=pl.when(faults.is_not_null())
        .then(pl.lit("error"))
        .when(cut)
        .then(pl.lit("empty"))
        .otherwise("outcome"),
        error=pl.coalesce("error", faults, pl.when(cut).then(pl.lit(CUT_REASONING))),
    )


def collect_table(grid: Grid, of: Asked, path_to_table: str) -> None:
    """Write a table of answers, user turns or scores from the journal.

    A table of scores with too many errors is still written (see `scores.check_scored`).

    Raises:
        UserError: a request has no record, or too many answers or user turns are errors.
    """
    parts = table_of(grid, of)
    if of.kind != SCORES:
        parts = check_errors(parts, grid.config["max_error_share"], of.path)
    with swept_again_if_lost(grid, of.model):
        write_parts(parts, path_to_table, of.identity)
