"""Turn journal records into a table of scores: one row per turn and context, in plan order."""

from pathlib import Path

import polars as pl

from userturn.likelihood.score_records import read_scores
from userturn.likelihood.scoring_plan import SCORING_PLAN_SCHEMA, TURN_SCHEMA
from userturn.storage.parquet import PLAN_SLICE, Schema, slices, write_table
from userturn.study.finished_requests import LostRecordsError, swept_again_if_lost
from userturn.study.grid import Grid
from userturn.study.scored_turns import ScoredTurns, scores_identity

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


def scores_of(
    grid: Grid, scored: ScoredTurns, outcomes: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return a table of scores (`SCORES_SCHEMA`).

    `token_ids` and `logprobs` are only the turn's; `logprob` is their sum in nats. A row that could
    not be scored has the reason in `error` and no scores.

    Args:
        grid: the study's grid.
        scored: the turns to collect.
        outcomes: outcomes in the journal (`SCORE_SCHEMA`), if it was already read.

    Raises:
        LostRecordsError: a request of the plan has no record in the journal.
    """
    folder = grid.requests_folder(scored.model, scored.dataset, scores_identity(grid, scored))
    plan = _read_plan(sorted(folder.glob("*.parquet")))
    journal = grid.journal_folder(scored.model, scored.dataset)
    found = read_scores(journal, plan["key"]) if outcomes is None else outcomes
    n_lost = plan["key"].drop_nulls().is_in(found["key"].implode()).not_().sum()
    if n_lost:
        raise LostRecordsError(
            f"{n_lost} of {plan.height} scoring requests have no record in '{journal}'; run the "
            "same command again, the sweep will send them"
        )
    table = plan.join(found, on="key", how="left", suffix="_scored", maintain_order="left")
    return table.with_columns(
        model=pl.lit(scored.model),
        dataset=pl.lit(scored.dataset),
        n_tokens=pl.col("token_ids").list.len(),
        logprob=pl.when(pl.col("outcome") == "ok").then(pl.col("logprobs").list.sum()),
        error=pl.coalesce("error", "error_scored"),
    ).select(pl.col(name).cast(kind) for name, kind in SCORES_SCHEMA.items())


def _read_plan(paths: list[Path]) -> pl.DataFrame:
    """Return the plan of all shards, a turn's contexts together, with the token ids of turns alone.

    Most tokens of a plan are contexts', so it is read a few rows at a time.
    """
    scans = [pl.scan_parquet(path) for path in paths]
    parts = (part.with_columns(OF_TURN) for scan in scans for part in slices(scan, PLAN_SLICE))
    plan = pl.concat([pl.DataFrame(schema=SCORING_PLAN_SCHEMA), *parts])
    # A study whose shards changed has each turn in the plans of both.
    ordered = plan.sort(*TURN, "position", nulls_last=True)
    return ordered.unique(SCORED_ROW, keep="first", maintain_order=True)


def collect_scores(grid: Grid, scored: ScoredTurns, path_to_scores: str) -> None:
    """Write a table of scores."""
    with swept_again_if_lost(grid, scored.model):
        write_table(scores_of(grid, scored), path_to_scores, scores_identity(grid, scored))
