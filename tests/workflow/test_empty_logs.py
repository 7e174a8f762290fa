"""After a run there are logs of what was said, and no others."""

from pathlib import Path

import pytest

from userturn.workflow import run_folder
from userturn.workflow.run_folder import release_abandoned_lock, remove_empty_logs

EMPTY = ["analyse.log", "judge/n/t0/a.log", "judge/m/b.log", "sweep/m/1of1.log"]


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_folder, "_held", [])
    for name in EMPTY:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "judge/m/a.log").write_text("a warning\n")
    return tmp_path


def test_empty_logs_go_with_their_folders_but_those_of_jobs_on_other_nodes_stay(
    logs: Path, tmp_path: Path
) -> None:
    release_abandoned_lock(tmp_path / ".snakemake")
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
