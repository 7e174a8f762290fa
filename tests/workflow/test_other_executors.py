"""A cluster without SLURM: any command submits jobs, and all see one disk (docs/deployment.md)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.slow import starting
from tests.support.snakemake_runs import CELLS_ALONE, SNAKEMAKE, copy_project, n_requests
from tests.support.tiny_model import write_tiny_model

pytestmark = [pytest.mark.slow, pytest.mark.long]
PLUGIN = "snakemake-executor-plugin-cluster-generic==1.0.9"
SUBMIT = '#!/bin/sh\ngrep -o "^# properties.*" "$1" >> submitted\nnohup sh "$1" >&2 &\necho $!\n'
PROFILE = "executor: cluster-generic\ncluster-generic-submit-cmd: ./submit\njobs: 2\n"


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
    subprocess.run([*install, PLUGIN], check=True)
    return folder


def submitted_by(
    folder: Path, profile: str, plugin: Path, *asked: str
) -> subprocess.CompletedProcess[str]:
    """Run the test study in a folder with a profile of a site."""
    copy_project(folder)
    write_tiny_model(folder / "models" / "tiny")
    (folder / "mysite").mkdir()
    (folder / "mysite/config.yaml").write_text(profile)
    (folder / "submit").write_text(SUBMIT)
    (folder / "submit").chmod(0o755)
    starting("Snakemake")
    return subprocess.run(
        [SNAKEMAKE, "--profile", "mysite", "--configfile", "study.yaml", *asked],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(plugin)},
        capture_output=True,
        text=True,
    )


def test_sweeps_are_submitted_and_the_rest_runs_where_the_driver_is(
    plugin: Path, tmp_path: Path
) -> None:
    done = submitted_by(tmp_path / "study", PROFILE, plugin, *CELLS_ALONE)
    assert done.returncode == 0, done.stdout + done.stderr
    (job,) = (tmp_path / "study/submitted").read_text().splitlines()
    assert '"rule": "sweep"' in job
    assert n_requests(tmp_path / "study") > 0
    assert len(list((tmp_path / "study/results/cells").rglob("user_turns.parquet"))) == 4


def test_without_a_command_that_submits_nothing_is_started(plugin: Path, tmp_path: Path) -> None:
    profile = PROFILE.replace("cluster-generic-submit-cmd: ./submit\n", "")
    done = submitted_by(tmp_path / "study", profile, plugin)
    assert done.returncode != 0
    assert "missing for plugin cluster-generic: --cluster-generic-submit-cmd." in done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "study/results/datasets").exists()
