"""Every token of a scored turn is in the journal, and parts of a table make that of the whole."""

import math
from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.errors import UserError
from userturn.generation import scores as scores_module
from userturn.generation.scorer import SCORING_PLAN_SCHEMA
from userturn.generation.scores import (
    SCORE_SCHEMA,
    SCORES_SCHEMA,
    check_scored,
    score_record,
    scores_of,
)
from userturn.models.requests import Completion, ScoringRequest, refusal, scores, scoring_request
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS, scores_path
from userturn.sources.source import Asked
from userturn.storage.journal import Writer
from userturn.storage.journal_table import read_outcomes
from userturn.storage.table_files import write_table
from userturn.study.grid import Grid
from userturn.study.sweep_notes import LostPlansError, swept_again_if_lost

SCORED = ("smollm2-135m", "follow-ups", HUMAN_TURNS)
SHARDS = {"1of2": ["c", "a"], "2of2": ["b", "c"]}  # shards changed: "c" is planned in both


def scored(grid: Grid) -> Asked:
    """Return the table of scores of the study."""
    return asked(grid)[scores_path(*SCORED)]


@pytest.fixture
def grid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Grid:
    """A study that scored three reference follow-ups, each after its own answer alone."""
    monkeypatch.chdir(ROOT)
    grid = Grid(load_config(["config.yaml", "profiles/demo/study.yaml"]), tmp_path)
    identity = scored(grid).identity
    plans = grid.requests_folder(SCORED[0], SCORED[1], identity)
    with Writer(grid.journal_folder(SCORED[0], SCORED[1])) as writer:
        for shard, items in SHARDS.items():
            rows = [planned(position, item) for position, item in enumerate(items)]
            plan = pl.DataFrame(rows, schema=SCORING_PLAN_SCHEMA)
            write_table(plan, plans / f"{shard}.parquet", identity)
            for item in items:
                request = scoring_request({}, SCORED[1], item, [ord(item), 7, 8], 1)
                writer.append(score_record(request, scores([-float(ord(item)), -1.0])))
    return grid


def planned(position: int, item: str) -> dict[str, object]:
    request = scoring_request({}, SCORED[1], item, [ord(item), 7, 8], 1)
    asked = {"key": request.key, "token_ids": request.token_ids, "n_context": 1}
    row = dict.fromkeys(SCORING_PLAN_SCHEMA) | asked
    return row | {"position": position, "item": item, "context": "own"}


@pytest.mark.parametrize("n_items", [1, 2, 3])
def test_every_turn_is_gathered_once_in_order_whatever_the_parts(
    grid: Grid, monkeypatch: pytest.MonkeyPatch, n_items: int
) -> None:
    monkeypatch.setattr(scores_module, "SLICE", n_items)
    parts = list(scores_of(grid, scored(grid)))
    assert len(parts) == {1: 3, 2: 2, 3: 1}[n_items]
    found = pl.concat(parts)
    assert found["item"].to_list() == ["a", "b", "c"]
    assert found["logprob"].to_list() == [-98.0, -99.0, -100.0]  # minus 97, 98, 99 and minus 1
    assert found["token_ids"].to_list() == [[7, 8]] * 3


@pytest.mark.parametrize("damage", [None, b"", b"PAR1"])
def test_scores_whose_plan_is_lost_or_damaged_are_planned_again_by_the_next_run(
    grid: Grid, damage: bytes | None
) -> None:
    plan, *_ = grid.results.rglob("*.parquet")
    for path in plan.parent.iterdir():
        path.unlink() if damage is None else path.write_bytes(damage)
    with pytest.raises(LostPlansError, match="again"), swept_again_if_lost(grid, SCORED[0]):
        list(scores_of(grid, scored(grid)))
    assert not plan.parent.exists()  # which the next run sees


def scores_with_errors(path: Path, n_errors: int) -> Path:
    """Write 20 scores, some of them errors, and a turn that no request was made for."""
    row = dict.fromkeys(SCORES_SCHEMA)
    asked = [row | {"key": str(n), "error": "no rows" if n < n_errors else None} for n in range(20)]
    unasked = row | {"error": "the answer is an error"}
    write_table(pl.DataFrame([*asked, unasked], schema=SCORES_SCHEMA), path, "identity")
    return path


def test_table_of_scores_with_too_many_errors_is_refused_with_the_first_reason(
    tmp_path: Path,
) -> None:
    """Of 20 scores one may be an error; the turn that was not asked for is none."""
    path = str(scores_with_errors(tmp_path / "own_turns.parquet", n_errors=1))
    check_scored([path], 0.05)
    scores_with_errors(Path(path), n_errors=2)
    with pytest.raises(UserError, match="2 of 20 scores ended in an error") as refused:
        check_scored([path], 0.05)
    assert "max_error_share allows 0.05; the first: no rows; " in str(refused.value)
    assert Path(path).exists()  # so that nothing is asked again by itself


REQUEST = ScoringRequest("k", "d", "i", (1, 2, 3, 4), 2)


def test_scores_come_back_from_the_journal_bit_for_bit(tmp_path: Path) -> None:
    found = [-1 / 3, -2.220446049250313e-16]
    record = score_record(REQUEST, scores(found))
    assert (record["outcome"], record["logprobs"]) == ("ok", found)
    with Writer(tmp_path) as writer:
        writer.append(record)
    table = read_outcomes(tmp_path, pl.Series(["k"]), schema=SCORE_SCHEMA)
    assert table["logprobs"].to_list() == [found]


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (scores([-1.0]), "expected 2 finite numbers"),
        (scores([-1.0, math.nan]), "expected 2 finite numbers"),
        (scores([-math.inf, -1.0]), "expected 2 finite numbers"),
        (scores([]), "expected 2 finite numbers"),
        (refusal(ValueError("too long")), "ValueError: too long"),
    ],
)
def test_missing_or_infinite_scores_and_refusals_are_an_error_with_a_reason(
    completion: Completion, reason: str
) -> None:
    record = score_record(REQUEST, completion)
    assert (record["outcome"], record["logprobs"]) == ("error", [])
    assert str(record["error"]).endswith(reason)


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
