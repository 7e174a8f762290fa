"""The journal's record of a scoring request: made and read here."""

import math
from typing import TypedDict

import polars as pl

from userturn.models.completion import Completion
from userturn.models.scoring import ScoringRequest
from userturn.storage.journal_table import Journal, read_outcomes
from userturn.storage.parquet import Schema

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
