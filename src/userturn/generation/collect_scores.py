"""Turn journal records into a table of scores: one row per turn and context, in plan order."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypedDict

import polars as pl

from userturn.errors import UserError
from userturn.generation.scoring_plan import SCORING_PLAN_SCHEMA, TURN_SCHEMA
from userturn.models.requests import Completion, ScoringRequest
from userturn.sources.source import Asked
from userturn.storage.journal_table import Journal, read_outcomes
from userturn.storage.table_files import SLICE, Schema
from userturn.study.asks import journal_of, scan_plans
from userturn.study.finished_requests import LostRecordsError, written_plans
from userturn.study.grid import Grid

SCORE_SCHEMA: Schema = {
    "key": pl.String,
    "outcome": pl.String,
    "logprobs": pl.List(pl.Float64),
    "error": pl.String,
}


class ScoreRecord(TypedDict):
    """One line of the journal for a scoring request.

    Attributes:
        key: key of the request.
        item: id of the item in its dataset.
        outcome: `ok` or `error`.
        logprobs: log-likelihood in nats of each token of the turn.
        error: what went wrong, null unless the outcome is `error`.
    """

    key: str
    item: str
    outcome: str
    logprobs: list[float]
    error: str | None


def score_record(request: ScoringRequest, completion: Completion) -> ScoreRecord:
    """Return the journal record of a scored request; scores that are not finite are an error."""
    found, error = list(completion.logprobs), completion.error
    n_scored = len(request.token_ids) - request.n_context
    if error is None and (len(found) != n_scored or not all(map(math.isfinite, found))):
        error = f"the engine gave {len(found)} scores, expected {n_scored} finite numbers"
    return {
        "key": request.key,
        "item": request.item,
        "outcome": "ok" if error is None else "error",
        "logprobs": found if error is None else [],
        "error": error,
    }


def read_scores(journal: Journal, keys: pl.Series) -> pl.DataFrame:
    """Return the scores of some keys from a journal, one row per key (`SCORE_SCHEMA`)."""
    return read_outcomes(journal, keys, schema=SCORE_SCHEMA)


SCORES_SCHEMA: Schema = {
    "model": pl.String,
    "dataset": pl.String,
    **TURN_SCHEMA,
    "context": pl.String,
    "distractor": pl.String,
    "key": pl.String,
    "n_characters": pl.Int64,
    "n_tokens": pl.Int64,
    "logprob": pl.Float64,
    "token_ids": pl.List(pl.Int32),
    "logprobs": pl.List(pl.Float64),
    "token_texts": pl.List(pl.String),
    "error": pl.String,
}
TURN = ("item", "temperature", "perturbation", "sample")
SCORED_ROW = (*TURN, "context", "distractor")  # what tells rows apart
OF_TURN = pl.col("token_ids").list.slice(pl.col("n_context"))


def scores_of(grid: Grid, scored: Asked) -> Iterator[pl.DataFrame]:
    """Yield a table of scores (`SCORES_SCHEMA`), some items at a time, at least one part.

    `token_ids` and `logprobs` are only the turn's; `logprob` is their sum in nats. A row that could
    not be scored has the reason in `error` and no scores.

    Replies come in any order, so the journal is read once for each part.

    Raises:
        LostRecordsError: a request of the plan has no record in the journal.
    """
    folder = grid.requests_folder(scored.model, scored.dataset, scored.identity)
    paths = written_plans(folder)
    journal = journal_of(grid, scored.model, scored.dataset, paths)
    for plan in _plans(paths):
        found = read_scores(journal, plan["key"])
        n_lost = plan["key"].drop_nulls().is_in(found["key"].implode()).not_().sum()
        if n_lost:
            own = grid.journal_folder(scored.model, scored.dataset)
            raise LostRecordsError(
                f"{n_lost} of {plan.height} scoring requests have no record in '{own}'; run "
                "the same command again, the sweep will send them"
            )
        yield _joined(plan, found, scored)


def _plans(paths: list[Path]) -> Iterator[pl.DataFrame]:
    """Yield the plan of all shards in order, `SLICE` items at a time, without contexts' tokens."""
    plan = scan_plans(paths).select(*SCORING_PLAN_SCHEMA)
    items = plan.select("item").unique().collect()["item"].sort()
    for start in range(0, max(1, len(items)), SLICE):
        part = plan.filter(pl.col("item").is_in(items[start : start + SLICE].implode()))
        ordered = part.with_columns(OF_TURN).collect().sort(*TURN, "position", nulls_last=True)
        # A study whose shards changed has each turn in the plans of both.
        yield ordered.unique(SCORED_ROW, keep="first", maintain_order=True)


def _joined(plan: pl.DataFrame, found: pl.DataFrame, scored: Asked) -> pl.DataFrame:
    table = plan.join(found, on="key", how="left", suffix="_scored", maintain_order="left")
    return table.with_columns(
        model=pl.lit(scored.model),
        dataset=pl.lit(scored.dataset),
        n_tokens=pl.col("token_ids").list.len(),
        logprob=pl.when(pl.col("outcome") == "ok").then(pl.col("logprobs").list.sum()),
        error=pl.coalesce("error", "error_scored"),
    ).select(pl.col(name).cast(kind) for name, kind in SCORES_SCHEMA.items())


def check_scored(paths_to_scores: Iterable[str], max_error_share: float) -> None:
    """Refuse tables of scores in which too many requests ended in an error.

    The tables are there all the same, so that no run asks for these scores again by itself.

    Raises:
        UserError: the share of a table's requests with an error is over `max_error_share`.
    """
    for path in paths_to_scores:
        asked = pl.read_parquet(path, columns=["key", "error"]).drop_nulls("key")
        errors = asked["error"].drop_nulls()
        if len(errors) > max_error_share * asked.height:
            raise UserError(
                f"{path}: {len(errors)} of {asked.height} scores ended in an error, "
                f"max_error_share allows {max_error_share:g}; the first: {errors[0]}; "
                "correct the cause and delete the file: the same command then asks for these again"
            )
