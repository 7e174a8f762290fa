"""The rehearsal's checks find what they look for; `make rehearsal` itself takes hours."""

from pathlib import Path

from tests.slurm.rehearsal import asked_nothing, asked_twice
from tests.support.instant_engine import ASKED
from userturn.storage.journal import encode_line


def test_a_request_that_two_files_of_a_journal_have_was_asked_twice(tmp_path: Path) -> None:
    for dataset, keys in (("once", "ab"), ("twice", "aa")):
        journal = tmp_path / "results" / "journal" / "m" / dataset
        journal.mkdir(parents=True)
        for number, key in enumerate(keys):
            (journal / f"{number}.jsonl").write_bytes(encode_line({"key": key, "outcome": "ok"}))
    (said,) = asked_twice(tmp_path)
    assert said.endswith("twice has 2 replies to 1 requests")


def test_a_job_without_a_request_is_named(tmp_path: Path) -> None:
    (tmp_path / ASKED).mkdir()
    for job, asked in (("1", "key\n"), ("2", "")):
        (tmp_path / ASKED / job).write_text(asked)
    jobs = [{"JobID": n, "Comment": "sweep", "State": "COMPLETED"} for n in "123"]
    assert [said[:5] for said in asked_nothing(tmp_path, jobs)] == ["job 2", "job 3"]
