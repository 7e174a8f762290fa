"""What a run leaves: what a failed job made before, and logs of what was said."""

from pathlib import Path

import pytest

from tests.support.snakemake_runs import n_requests, planned, run, snakemake
from tests.workflow.test_rerun import N_FINISHED
from userturn.audit.run import audit
from userturn.workflow import run_folder
from userturn.workflow.run_folder import remove_empty_logs, take_folder

DATA = "data/demo/word_problems.jsonl"
PREPARED = "results/datasets/word-problems.parquet"


@pytest.mark.slow
def test_a_torn_row_takes_no_table_away_and_is_told_until_it_is_mended(study: Path) -> None:
    before, rows = (study / PREPARED).read_bytes(), (study / DATA).read_text()
    (study / DATA).write_text(rows.rstrip("\n")[:-5])
    for _ in range(2):  # the failed job has left no sign that it is finished
        done = snakemake(study)
        assert done.returncode == 1 and "word_problems.jsonl" in done.stdout, done.stdout
        assert (study / PREPARED).read_bytes() == before
        assert not (study / "results" / ".kept").exists()
        assert "missing" not in {finding.check for finding in audit(study / "results").findings}
    (study / DATA).write_text(rows)
    run(study)
    assert (study / PREPARED).read_bytes() == before
    assert n_requests(study) == N_FINISHED and not planned(study)
    assert audit(study / "results").findings == []


@pytest.mark.slow
def test_what_a_killed_run_took_away_comes_back_with_the_next_one(study: Path) -> None:
    kept = study / "results" / ".kept" / "datasets" / "word-problems.parquet"
    before = (study / PREPARED).read_bytes()
    kept.parent.mkdir(parents=True)
    (study / PREPARED).rename(kept)
    (study / DATA).write_text("{")
    assert snakemake(study).returncode == 1
    assert (study / PREPARED).read_bytes() == before and not kept.exists()


EMPTY = ["analyse.log", "judge/n/t0/a.log", "judge/m/b.log", "sweep/m/1of1.log"]


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_folder, "_runs", [])
    for name in EMPTY:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "judge/m/a.log").write_text("a warning\n")
    return tmp_path


def test_empty_logs_go_with_their_folders_but_those_of_jobs_on_other_nodes_stay(
    logs: Path, tmp_path: Path
) -> None:
    take_folder(tmp_path / ".snakemake")
    remove_empty_logs(logs)
    assert sorted(logs.rglob("*.log")) == [logs / "judge/m/a.log", logs / "sweep/m/1of1.log"]
    assert not (logs / "judge" / "n").exists()


def test_nothing_is_removed_beside_another_run(logs: Path) -> None:
    remove_empty_logs(logs)
    assert all((logs / name).exists() for name in EMPTY)


@pytest.mark.slow
def test_every_log_of_a_finished_study_says_something(finished_study: Path) -> None:
    logs = list((finished_study / "logs").rglob("*.log"))
    assert logs
    assert all(path.stat().st_size for path in logs)
