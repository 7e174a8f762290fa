"""A record belongs to the job that its path names, and has the settings of what that job made."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.job_records import job_record
from userturn.audit.check_records import check_records
from userturn.workflow.job_record import read_record, write_record
from userturn.workflow.study_files import Files

MADE = "results/cells/m/d/t0.7/none/verdicts/j.parquet"
DEPTH = "results/self_play/m/d/t0.7/depth-2"
PLAYED = {f"{DEPTH}/answers.parquet": "of answers", f"{DEPTH}/user_turns.parquet": "of turns"}
FILE = "data/annotations/first/ada.csv"
LABELS = {"first": {FILE: "1" * 64}}
WANTED = {MADE: "aa", **PLAYED}
WILDCARDS = {"dataset": "d", "judge": "j", "model": "m", "temperature": "0.7"}
RECORD = job_record("judge", wildcards=WILDCARDS, identity="aa", outputs={MADE: "0" * 64})


def found(results: Path, path: str = "judge/m/d/t0.7/j.json", **changes: Any) -> list[str]:
    write_record(results / "provenance" / path, RECORD | changes)
    return [finding.check for finding in check_records(Files(results, {}), WANTED, LABELS)]


def test_record_of_its_job_has_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_record_of_a_served_models_sweep_is_where_those_of_sweeps_are(tmp_path: Path) -> None:
    changes = {"rule": "sweep_served", "wildcards": {"model": "m", "shard": "1of1"}}
    assert found(tmp_path, "sweep/m/1of1.json", **changes) == []


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"rule": "grade"}, "records"),
        ({"wildcards": {**RECORD["wildcards"], "dataset": "e"}}, "records"),
        ({"wildcards": {**RECORD["wildcards"], "temperature": "1"}}, "records"),
        ({"identity": "bb"}, "identities"),
        ({"schema_version": "0"}, "identities"),
    ],
)
def test_edit_of_a_record_is_found(tmp_path: Path, changes: dict[str, Any], check: str) -> None:
    assert found(tmp_path, **changes) == [check]


@pytest.mark.parametrize(
    ("began", "ended", "checks"),
    [
        ("2026-01-01T10:00:00+00:00", "2026-01-01T10:00:01+00:00", []),
        ("2026-01-01T10:00:00+00:00", "2026-01-01T09:30:00+00:00", []),  # a clock was set back
        ("2026-01-02T10:00:00+00:00", "2026-01-01T10:00:01+00:00", ["records"]),
        ("2026-01-01T10:00:00+00:00", "2026-01-41T10:00:01+00:00", ["records"]),
    ],
)
def test_a_job_that_ended_long_before_it_began_is_found(
    tmp_path: Path, began: str, ended: str, checks: list[str]
) -> None:
    assert found(tmp_path, made={**RECORD["made"], "began": began, "ended": ended}) == checks


@pytest.mark.parametrize(
    ("depth", "identity", "checks"),
    [("2", "of turns", []), ("2", "another", ["identities"]), ("3", "of turns", ["records"])],
)
def test_record_of_a_depth_names_it_and_has_the_identity_of_its_answers_or_turns(
    tmp_path: Path, depth: str, identity: str, checks: list[str]
) -> None:
    changes: dict[str, Any] = {
        "rule": "collect_self_play",
        "wildcards": {"dataset": "d", "depth": depth, "model": "m", "temperature": "0.7"},
        "identity": identity,
        "outputs": dict.fromkeys(PLAYED, "0" * 64),
    }
    assert found(tmp_path, "collect_self_play/m/d/t0.7/depth-2.json", **changes) == checks


@pytest.mark.parametrize(("digest", "checks"), [("1" * 64, []), ("2" * 64, ["records"])])
def test_a_record_of_other_labels_than_the_study_names_is_found(
    tmp_path: Path, digest: str, checks: list[str]
) -> None:
    changes = {
        "rule": "import_annotations",
        "wildcards": {"round": "first"},
        "inputs": {FILE: digest},
    }
    assert found(tmp_path, "import_annotations/first.json", **changes) == checks


@pytest.mark.parametrize(
    ("commit", "is_one"),
    [("a" * 40, True), ("a" * 64, True), ("a" * 40 + "?", False), ("main", False), (7, False)],
)
def test_a_record_of_no_commit_is_none(tmp_path: Path, commit: Any, is_one: bool) -> None:
    write_record(tmp_path / "record.json", RECORD | {"made": RECORD["made"] | {"commit": commit}})
    assert (read_record(tmp_path / "record.json") is not None) == is_one
