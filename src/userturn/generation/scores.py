"""Turn journal records into a table of scores, and scores into gains and signals.

The gain over a distractor is the log-likelihood of the turn after its own context minus that after
the distractor, in nats. It estimates the pointwise mutual information of turn and context, by
contrast with a sample of other contexts (Ren et al. 2023, arXiv:2306.15245).
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypedDict

import polars as pl

from userturn.errors import UserError
from userturn.generation.scorer import (
    ASSISTANT_HEADER,
    OTHER_ANSWER,
    OTHER_CONVERSATION,
    OWN,
    PROMPT,
    SCORING_PLAN_SCHEMA,
    TURN_SCHEMA,
)
from userturn.models.requests import Completion, ScoringRequest
from userturn.sources.candidates import CORRECTION, KINDS, SATISFACTION
from userturn.sources.source import Asked
from userturn.storage.journal_table import read_outcomes
from userturn.storage.table_files import SLICE, Schema
from userturn.study.asks import journal_of, scan_plans
from userturn.study.grid import Grid
from userturn.study.sweep_notes import LostRecordsError, written_plans

SCORE_SCHEMA: Schema = {
    "key": pl.String,
    "outcome": pl.String,
    "logprobs": pl.List(pl.Float64),
    "error": pl.String,
}


class ScoreRecord(TypedDict):
    """One line of the journal for a scoring request.

    The outcome is `ok` or `error`. `logprobs` are in nats, one per token of the turn.
    """

    key: str
    item: str
    outcome: str
    logprobs: list[float]
    error: str | None


def score_record(request: ScoringRequest, completion: Completion) -> ScoreRecord:
    """Return the journal record of a scored request, an error unless all scores are finite."""
    logprobs, error = list(completion.logprobs), completion.error
    n_scored = len(request.token_ids) - request.n_context
    if error is None and (len(logprobs) != n_scored or not all(map(math.isfinite, logprobs))):
        error = f"the engine gave {len(logprobs)} scores, expected {n_scored} finite numbers"
    return {
        "key": request.key,
        "item": request.item,
        "outcome": "ok" if error is None else "error",
        "logprobs": logprobs if error is None else [],
        "error": error,
    }


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
TURN_OF_PLAN = ("item", "temperature", "perturbation", "sample")
SCORED_ROW = (*TURN_OF_PLAN, "context", "distractor")  # what tells rows apart
OF_TURN = pl.col("token_ids").list.slice(pl.col("n_context"))
TURN = ["model", "dataset", *TURN_SCHEMA]
CANDIDATE = ["model", "dataset", "item", "sample"]
LOG_ODDS, LOG_PROBABILITY = "satisfaction over correction", "mean log-probability"
CONTINGENCY = "contingency"
SIGNALS = (LOG_ODDS, *KINDS, CONTINGENCY, LOG_PROBABILITY)


def scores_of(grid: Grid, scored: Asked) -> Iterator[pl.DataFrame]:
    """Yield a table of scores (`SCORES_SCHEMA`), some items at a time, at least one part.

    `token_ids` and `logprobs` are only the turn's, and `logprob` is their sum in nats. A row that
    could not be scored has the reason in `error` and no scores.

    Replies come in any order, so the journal is read once for each part.

    Raises:
        LostRecordsError: a request of the plan has no record in the journal.
    """
    folder = grid.requests_folder(scored.model, scored.dataset, scored.identity)
    paths = written_plans(folder)
    journal = journal_of(grid, scored.model, scored.dataset, paths)
    for plan in _plans(paths):
        outcomes = read_outcomes(journal, plan["key"], schema=SCORE_SCHEMA)
        folder_of_journal = grid.journal_folder(scored.model, scored.dataset)
        check_complete(plan["key"], outcomes, folder_of_journal, "scoring requests")
        table = plan.join(outcomes, on="key", how="left", suffix="_scored", maintain_order="left")
        yield table.with_columns(
            model=pl.lit(scored.model),
            dataset=pl.lit(scored.dataset),
            n_tokens=pl.col("token_ids").list.len(),
            logprob=pl.when(pl.col("outcome") == "ok").then(pl.col("logprobs").list.sum()),
            error=pl.coalesce("error", "error_scored"),
        ).select(pl.col(name).cast(kind) for name, kind in SCORES_SCHEMA.items())


def check_complete(
    keys: pl.Series, outcomes: pl.DataFrame, folder_of_journal: Path, what: str = "requests"
) -> None:
    """Check that every request of a plan has a record, or raise LostRecordsError."""
    n_lost = keys.drop_nulls().is_in(outcomes["key"].implode()).not_().sum()
    if n_lost:
        raise LostRecordsError(
            f"{n_lost} of {len(keys)} {what} have no record in '{folder_of_journal}'; "
            "run the same command again, the sweep will send them"
        )


def _plans(paths: list[Path]) -> Iterator[pl.DataFrame]:
    """Yield the plan of all shards in order, `SLICE` items at a time, without contexts' tokens."""
    plan = scan_plans(paths).select(*SCORING_PLAN_SCHEMA)
    items = plan.select("item").unique().collect()["item"].sort()
    for start in range(0, max(1, len(items)), SLICE):
        part = plan.filter(pl.col("item").is_in(items[start : start + SLICE].implode()))
        ordered = (
            part.with_columns(OF_TURN).collect().sort(*TURN_OF_PLAN, "position", nulls_last=True)
        )
        # A study whose shards changed has each turn in the plans of both.
        yield ordered.unique(SCORED_ROW, keep="first", maintain_order=True)


def check_scored(paths_to_scores: Iterable[str], max_error_share: float) -> None:
    """Refuse tables of scores in which too many requests ended in an error.

    The tables exist nevertheless, so that no run asks for these scores again by itself.

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


def reaction_signals(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the signals of each candidate, where a larger value means a better candidate.

    `satisfaction` is the log-likelihood of any satisfied turn, log Σ p, and `correction` the
    negative log-likelihood of any correction. Their sum `satisfaction over correction` is the
    log-odds that a user who says one of these turns says a satisfied one. `contingency` is the gain
    per token of the model's own turn over answers to other items (`turn_gains`), and
    `mean log-probability` that per token of the candidate after its prompt. All are in nats. A
    signal is null if one of its scores is, contingency if all scores after other answers are.

    Returns:
        One row per candidate: the columns `CANDIDATE`, and one for each signal.
    """
    kind = pl.col("context").str.split(" ").list.first()
    ordered = scores.with_columns(kind=kind).sort(*CANDIDATE, "context")
    score, length = pl.col("logprob"), pl.col("n_tokens")

    def any_of(name: str) -> pl.Expr:
        mine = score.filter(pl.col("kind") == name)
        is_complete = (mine.null_count() == 0) & (mine.len() > 0)
        most = mine.max()
        return pl.when(is_complete).then(most + (mine - most).exp().sum().log())

    def a_token(context: str) -> pl.Expr:
        return (score / length).filter(pl.col("kind") == context)

    return (
        ordered.group_by(CANDIDATE, maintain_order=True)
        .agg(
            any_of(SATISFACTION).alias(SATISFACTION),
            -any_of(CORRECTION).alias(CORRECTION),
            (a_token(OWN).first() - a_token(OTHER_ANSWER).sort().mean()).alias(CONTINGENCY),
            a_token(PROMPT).first().alias(LOG_PROBABILITY),
        )
        .with_columns((pl.col(SATISFACTION) + pl.col(CORRECTION)).alias(LOG_ODDS))
    )


def turn_gains(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the gains of each turn of a table of scores (`SCORES_SCHEMA`), one row per turn.

    Columns are those of `TURN`, `n_characters`, `n_tokens`, `error` (why the own context has no
    score), and four in nats: `surprisal` after the turn's own context, `gain_answer` and
    `gain_conversation` (means over the distractors), and `gain_role` (over the assistant's header).
    `identified_answer` and `identified_conversation` say whether the turn is likelier after its own
    context than after every distractor (a tie is not), and `n_answers` and `n_conversations` count
    the distractors. Missing scores are null.
    """
    own = scores.filter(pl.col("context") == OWN)
    turns = own.select(*TURN, "n_characters", "n_tokens", "logprob", "error")
    for context, name in ((OTHER_ANSWER, "answer"), (OTHER_CONVERSATION, "conversation")):
        scored = scores.filter(pl.col("context") == context).drop_nulls("logprob")
        gains = scored.group_by(TURN, maintain_order=True).agg(
            pl.len().alias(f"n_{name}s"),
            pl.col("logprob").sort().mean().alias(f"mean_{name}"),
            pl.col("logprob").max().alias(f"most_{name}"),
        )
        turns = turns.join(gains, on=TURN, how="left", nulls_equal=True, maintain_order="left")
    role = scores.filter(pl.col("context") == ASSISTANT_HEADER).select(*TURN, role="logprob")
    turns = turns.join(role, on=TURN, how="left", nulls_equal=True, maintain_order="left")
    own_score = pl.col("logprob")
    return turns.with_columns(
        surprisal=-own_score,
        gain_answer=own_score - pl.col("mean_answer"),
        gain_conversation=own_score - pl.col("mean_conversation"),
        gain_role=own_score - pl.col("role"),
        identified_answer=own_score > pl.col("most_answer"),
        identified_conversation=own_score > pl.col("most_conversation"),
    ).drop("logprob", "role", "^mean_.*$", "^most_.*$")


def token_gains(scores: pl.DataFrame) -> pl.DataFrame:
    """Return each token's log-likelihood after the turn's own answer and its mean after others.

    The differences of a turn's two lists add up to its `gain_answer` (`turn_gains`).

    Returns:
        One row per turn that was scored after its own answer and after another, with the columns of
        `TURN`, `token_texts`, `own` and `others`. The last two are lists of equal length, in nats.
    """
    scored = scores.drop_nulls("logprob")
    own = scored.filter(pl.col("context") == OWN).select(*TURN, "token_texts", own="logprobs")
    others = scored.filter(pl.col("context") == OTHER_ANSWER).select(*TURN, "logprobs")
    tokens = (
        others.with_columns(place=pl.int_ranges(pl.col("logprobs").list.len()))
        .explode("logprobs", "place")
        .group_by(*TURN, "place", maintain_order=True)
        .agg(pl.col("logprobs").sort().mean())
        .group_by(TURN, maintain_order=True)
        .agg(others="logprobs")
    )
    both = own.join(tokens, on=TURN, how="inner", nulls_equal=True, maintain_order="left")
    return both.select(*TURN, "token_texts", "own", "others")
