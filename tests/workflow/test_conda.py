"""Rules run in conda's environments, which have the packages of envs/*.yaml and nothing else.

No conda can be had where this was written: `tests.support.stand_in_conda` answers in its place.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import stand_in_conda
from tests.support.slow import starting
from tests.support.snakemake_runs import SNAKEMAKE, copy_project, snakemake
from tests.support.tiny_model import write_tiny_model

pytestmark = [pytest.mark.slow, pytest.mark.long]


def test_every_rule_of_a_study_ends_in_an_environment_of_its_own(tmp_path: Path) -> None:
    folder = copy_project(tmp_path / "study")
    write_tiny_model(folder / "models" / "tiny")
    conda = stand_in_conda.put(tmp_path / "conda")
    starting("Snakemake")
    done = subprocess.run(
        [SNAKEMAKE, "--configfile", "study.yaml", "--cores", "2", "--sdm", "conda"],
        cwd=folder,
        env=os.environ | {"PATH": f"{conda}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "results/report/index.html").is_file()
    environments = sorted(folder.glob(".snakemake/conda/*_/bin/python"))
    assert len(environments) == 3  # nothing is trained
    taken = set((folder / stand_in_conda.TAKEN).read_text().split())
    assert "snakemake" in taken  # each job reads what Snakemake tells it
    # pyarrow imports cloudpickle if it finds it, else Python's own pickle.
    assert taken - {"cloudpickle"} <= stand_in_conda.OF_SNAKEMAKE


@pytest.mark.skipif(shutil.which("conda") is not None, reason="conda is installed")
def test_without_conda_nothing_is_started(tmp_path: Path) -> None:
    folder = copy_project(tmp_path / "study")
    write_tiny_model(folder / "models" / "tiny")
    done = snakemake(folder, "--sdm", "conda")
    assert done.returncode != 0
    assert "Is conda installed and accessible?" in done.stdout
    assert not (folder / "results/datasets").exists()
