"""Score records: every token of the turn has a finite score, or the record is an error."""

import math
from pathlib import Path

import polars as pl
import pytest

from userturn.generation.scores import SCORE_SCHEMA, score_record
from userturn.models.requests import ScoringRequest, refusal, scores, scoring_request
from userturn.storage.journal import Writer
from userturn.storage.journal_table import read_outcomes

REQUEST = ScoringRequest("k", "d", "i", (1, 2, 3, 4), 2)


def test_a_scored_request_is_kept_with_the_score_of_each_token() -> None:
    record = score_record(REQUEST, scores([-1.5, -0.25]))
    assert (record["outcome"], record["logprobs"]) == ("ok", [-1.5, -0.25])


@pytest.mark.parametrize("found", [[-1.0], [-1.0, math.nan], [-math.inf, -1.0], []])
def test_missing_or_infinite_scores_are_an_error_with_a_reason(found: list[float]) -> None:
    record = score_record(REQUEST, scores(found))
    assert (record["outcome"], record["logprobs"]) == ("error", [])
    assert "expected 2 finite numbers" in str(record["error"])


def test_a_refusal_keeps_its_reason() -> None:
    record = score_record(REQUEST, refusal(ValueError("too long")))
    assert (record["outcome"], record["error"]) == ("error", "ValueError: too long")


def test_scores_come_back_from_the_journal_bit_for_bit(tmp_path: Path) -> None:
    found = [-1 / 3, -2.220446049250313e-16]
    with Writer(tmp_path) as writer:
        writer.append(score_record(REQUEST, scores(found)))
    table = read_outcomes(tmp_path, pl.Series(["k"]), schema=SCORE_SCHEMA)
    assert table["logprobs"].to_list() == [found]


def test_the_key_follows_from_tokens_span_model_and_dataset_and_not_from_the_item() -> None:
    base = scoring_request({"m": 1}, "d", "i", [1, 2, 3], 1).key
    assert scoring_request({"m": 1}, "d", "other", [1, 2, 3], 1).key == base
    others = [
        scoring_request({"m": 2}, "d", "i", [1, 2, 3], 1),
        scoring_request({"m": 1}, "e", "i", [1, 2, 3], 1),
        scoring_request({"m": 1}, "d", "i", [1, 2, 4], 1),
        scoring_request({"m": 1}, "d", "i", [1, 2, 3], 2),
    ]
    assert len({base, *(request.key for request in others)}) == 5


@pytest.mark.parametrize("n_context", [0, 3])
def test_a_request_without_context_or_turn_is_refused(n_context: int) -> None:
    with pytest.raises(ValueError, match="at least one token of context"):
        scoring_request({}, "d", "i", [1, 2, 3], n_context)
