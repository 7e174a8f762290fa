"""Journals, accounts and request slots are as their processes left them."""

from pathlib import Path

import pytest

from tests.support.job_records import job_record
from userturn.audit.check_journals import check_journals
from userturn.endpoints.budget import Account
from userturn.endpoints.usage import Spent
from userturn.storage.files import write_json
from userturn.storage.hashing import file_sha256
from userturn.workflow.job_record import write_record
from userturn.workflow.study_files import Files

JOURNAL = "results/journal/m/d/1.jsonl"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with a recorded journal, an account of a judge, a slot for its requests, a lock."""
    costs, journal = tmp_path / "results/journal/costs", tmp_path / JOURNAL
    journal.parent.mkdir(parents=True)
    journal.write_text("{}\n")
    with Account(costs, "judge", "cell") as account:
        account.send(Spent(n_requests=1))
    (costs / "in_flight" / "judge").mkdir(parents=True)
    (costs / "in_flight" / "judge" / "0").touch()
    (costs / "lock").touch()
    note(tmp_path / "results", journal.stat().st_size)
    return tmp_path / "results"


def note(results: Path, n_bytes: int) -> None:
    digest = file_sha256(results.parent / JOURNAL)
    outputs = {"results/sweeps/m/1of1.json": digest}
    journals = {JOURNAL: {"n_bytes": n_bytes, "sha256": digest}}
    record = job_record("sweep", outputs=outputs, journals=journals)
    write_record(results / "provenance/sweep/m/1of1.json", record)


def found(results: Path) -> list[str]:
    return [item.artifact for item in check_journals(Files(results, {}))]


def test_what_processes_left_has_no_finding(results: Path) -> None:
    assert found(results) == []


def test_what_a_system_leaves_beside_every_file_has_no_finding(results: Path) -> None:
    for path in [path for path in results.rglob("*") if path.is_file()]:
        path.with_name(f"._{path.name}").write_bytes(b"\0\5\x16\7")
    assert found(results) == []


def test_a_journal_that_is_shorter_than_recorded_is_found(results: Path) -> None:
    note(results, 4)  # three bytes are there, with the recorded hash
    assert found(results) == [JOURNAL]


@pytest.mark.parametrize("pattern", ["judge/*.account", "in_flight/judge/0", "lock"])
def test_what_was_written_into_accounts_slots_and_locks_is_found(
    results: Path, pattern: str
) -> None:
    (path,) = (results / "journal/costs").glob(pattern)
    with path.open("ab") as file:
        file.write(b"more")
    assert found(results) == [f"results/{path.relative_to(results).as_posix()}"]


@pytest.mark.parametrize(("judge", "artifacts"), [("judge", []), ("other", ["judge"])])
def test_the_trial_of_another_judge_is_found(
    results: Path, judge: str, artifacts: list[str]
) -> None:
    write_json({"judge": judge}, results / "journal/costs/judge/trial.json", "identity")
    assert found(results) == [f"results/journal/costs/{name}/trial.json" for name in artifacts]
