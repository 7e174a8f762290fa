"""The audit joins plan and journal of scores again, and finds others."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.audit.check_likelihood import check_likelihood
from userturn.config.load import load_config
from userturn.likelihood.collect import scores_of
from userturn.likelihood.score_records import score_record
from userturn.likelihood.scoring_plan import SCORING_PLAN_SCHEMA
from userturn.models.completion import scores
from userturn.models.scoring import scoring_request
from userturn.storage.journal import Writer
from userturn.study.inputs import FileContents
from userturn.study.record import StudyRecord, study_record
from userturn.study.scored_turns import HUMAN_TURNS, ScoredTurns, scores_identity

SCORED = ScoredTurns("smollm2-135m", "follow-ups", HUMAN_TURNS)
PATH = f"likelihood/{SCORED.file}"
FOUND = {"own": [-1.0, -2.0], "other_answer": [-3.0, -4.0]}  # scores of a turn of two tokens


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyRecord:
    """A study that scored one human follow-up after its own and after another answer."""
    monkeypatch.chdir(ROOT)
    config = load_config(["config.yaml", "profiles/demo/study.yaml"])
    config["likelihood"] |= {"turns": 0}
    record = study_record(config, FileContents(config))
    grid, rows = record.grid(tmp_path), []
    with Writer(grid.journal_folder(SCORED.model, SCORED.dataset)) as writer:
        for position, (context, logprobs) in enumerate(FOUND.items()):
            request = scoring_request({}, SCORED.dataset, "a", [position, 7, 8], 1)
            writer.append(score_record(request, scores(logprobs)))
            rows.append(plan_row(position, context, request))
    plan = grid.requests_folder(SCORED.model, SCORED.dataset, scores_identity(grid, SCORED))
    plan.mkdir(parents=True)
    pl.DataFrame(rows, schema=SCORING_PLAN_SCHEMA).write_parquet(plan / "1of1.parquet")
    (tmp_path / PATH).parent.mkdir(parents=True)
    scores_of(grid, SCORED).write_parquet(tmp_path / PATH)
    return record


def plan_row(position: int, context: str, request: Any) -> dict[str, Any]:
    shown = {"position": position, "item": "a", "conversation": "a", "context": context}
    spans = {"token_ids": request.token_ids, "n_context": request.n_context, "n_characters": 9}
    return {**dict.fromkeys(SCORING_PLAN_SCHEMA), **shown, "key": request.key, **spans}


def found(results: Path, record: StudyRecord, broken: frozenset[str] = frozenset()) -> list[str]:
    findings = list(check_likelihood(results, record, broken))
    assert all(f.artifact == f"results/{PATH}" and f.check == "rows" for f in findings)
    return [f"{finding.expected} | {finding.found}" for finding in findings]


def edit(results: Path, **columns: Any) -> None:
    table = pl.read_parquet(results / PATH)
    table.with_columns(**columns).write_parquet(results / PATH)


def test_scores_that_follow_from_plan_and_journal_have_no_finding(
    tmp_path: Path, record: StudyRecord
) -> None:
    table = pl.read_parquet(tmp_path / PATH)
    assert table["logprob"].to_list() == [-3.0, -7.0] and table["token_ids"][0].to_list() == [7, 8]
    assert found(tmp_path, record) == []


def test_a_score_that_the_engine_did_not_give_is_found(tmp_path: Path, record: StudyRecord) -> None:
    edit(tmp_path, logprob=pl.Series([-3.0, -0.5]))
    (said,) = found(tmp_path, record)
    assert "-7.0" in said and said.endswith("-0.5")


def test_two_contexts_exchanged_are_found(tmp_path: Path, record: StudyRecord) -> None:
    edit(tmp_path, context=pl.col("context").reverse())
    assert len(found(tmp_path, record)) == 1


def test_a_turn_that_was_dropped_is_found(tmp_path: Path, record: StudyRecord) -> None:
    pl.read_parquet(tmp_path / PATH)[:1].write_parquet(tmp_path / PATH)
    assert found(tmp_path, record) == ["2 rows | 1 rows"]


def test_a_request_without_a_line_in_the_journal_is_found(
    tmp_path: Path, record: StudyRecord
) -> None:
    for path in (tmp_path / "journal").rglob("*.jsonl"):
        path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    (said,) = found(tmp_path, record)
    assert "1 of 2 scoring requests have no record" in said


def test_a_table_that_was_already_found_altered_is_not_reported_twice(
    tmp_path: Path, record: StudyRecord
) -> None:
    edit(tmp_path, logprob=pl.lit(0.0))
    assert found(tmp_path, record, frozenset({f"results/{PATH}"})) == []
