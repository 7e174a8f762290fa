"""A study that is killed goes on with the same command; a study made twice is the same twice."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.snakemake_runs import SNAKEMAKE, copy_project, journal_lines, n_requests, run
from tests.workflow.test_rerun import N_FINISHED
from userturn.audit.run import audit
from userturn.export.read_archive import opened
from userturn.export.write_archive import export

pytestmark = pytest.mark.slow

PATIENCE = 300  # seconds to wait for a sweep to begin, on a busy machine


def copy_with_model(finished_study: Path, folder: Path) -> Path:
    """Return a project without results that has the same model as the finished study."""
    copy_project(folder)
    shutil.copytree(finished_study / "models", folder / "models")
    return folder


def test_killed_study_goes_on_asks_nothing_again_and_ends_byte_equal_to_another(
    finished_study: Path, tmp_path: Path
) -> None:
    folder = copy_with_model(finished_study, tmp_path / "killed")
    command = [SNAKEMAKE, "--configfile", "study.yaml", "--cores", "2"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + PATIENCE
    while len(journal_lines(folder)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    n_before = len(journal_lines(folder))
    assert 3 <= n_before < N_FINISHED
    run(folder)
    assert n_requests(folder) == N_FINISHED
    tables = sorted(path.relative_to(folder) for path in (folder / "results").rglob("*.parquet"))
    assert len([path for path in tables if path.name == "user_turns.parquet"]) == 4
    differ = [p for p in tables if (folder / p).read_bytes() != (finished_study / p).read_bytes()]
    assert differ == []
    export(folder / "results", tmp_path / "results.zip")
    copy = shutil.copytree(folder / "results", tmp_path / "a copy" / "results")
    with opened(tmp_path / "results.zip") as exported:
        studies = (finished_study / "results", folder / "results", copy, exported)
        assert len({audit(results).digest for results in studies}) == 1
