"""A study of one's own is run again, in a folder of its own, by its own configuration."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.slow import starting
from tests.support.snakemake_runs import SNAKEMAKE
from userturn.cli.main import main


@pytest.mark.slow
def test_folder_to_run_again_asks_for_the_very_same_artifacts(
    finished_study: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The model of this study is a local folder, which the new one lacks: the run says so.

    With the model there, and the results in their place, Snakemake finds nothing to do: every
    identity is that of the study.
    """
    starting("Snakemake")
    anew = tmp_path / "anew"
    monkeypatch.chdir(finished_study)
    command = ["remake", "results", "--to", str(anew), "--sweep", "--configfile", "study.yaml"]
    assert main(command) == 1
    said = "".join(capfd.readouterr())
    assert "model source './models/tiny' does not exist" in said
    assert "run `snakemake --cores all` in" in said
    shutil.copytree(finished_study / "models", anew / "models")
    shutil.copytree(finished_study / "results", anew / "results", dirs_exist_ok=True)
    for path in (anew / "data").rglob("*"):
        os.utime(path, (1e9, 1e9))  # older than the results, as in a folder where they were made
    done = subprocess.run([SNAKEMAKE, "-n"], cwd=anew, text=True, capture_output=True)
    assert "Nothing to be done" in done.stdout + done.stderr
