"""An installed wheel has the whole product: commands work in an empty folder, without a clone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.snakemake_runs import ROOT, copy_project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    project = copy_project(tmp_path_factory.mktemp("wheel") / "project")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "CITATION.cff"):
        shutil.copy(ROOT / name, project / name)
    shutil.copytree(ROOT / "src", project / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (project / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks/vllm_on_gpu.py", project / "benchmarks")
    (project / "results").mkdir()
    shutil.copy(ROOT / "results/README.md", project / "results")
    (project / "data/annotations/first").mkdir()
    (project / "data/annotations/first/anna.csv").write_text("turn,label\n")
    build = "from setuptools.build_meta import build_wheel; print(build_wheel('dist'))"
    subprocess.run([sys.executable, "-c", build], cwd=project, check=True, capture_output=True)
    (path,) = (project / "dist").glob("*.whl")
    return ZipFile(path)


@pytest.fixture(scope="module")
def installed(wheel: ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    wheel.extractall(folder)
    return folder


def done(installed: Path, folder: Path, *command: str) -> str:
    """Return what a command of the installed wheel prints; nothing of the clone is on its path."""
    program = {"userturn": "userturn.cli.main", "snakemake": "snakemake"}[command[0]]
    call = "import sys; from userturn.cli.main import main; sys.exit(main())"
    given = ["-c", call] if command[0] == "userturn" else ["-m", program]
    environment = os.environ | {"PYTHONPATH": str(installed)}
    ran = subprocess.run(
        [sys.executable, *given, *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_a_wheel_has_the_workflow_and_neither_tests_nor_anybodys_labels(wheel: ZipFile) -> None:
    names = {name.removeprefix("userturn/installed/") for name in wheel.namelist()}
    assert {"Snakefile", "config.yaml", "rules/jobs.smk", "scripts/run_job.py"} <= names
    assert {"data/annotations/README.md", "profiles/demo/study.yaml", "results/README.md"} <= names
    assert not {name for name in names if name.startswith(("tests/", "envs/locks"))}
    of_gpus = {name for name in names if name.startswith("benchmarks")}
    assert of_gpus == {"benchmarks/vllm_on_gpu.py"}
    assert "data/annotations/first/anna.csv" not in names


def test_a_study_is_made_planned_and_exported_by_an_installed_wheel(
    installed: Path, tmp_path: Path
) -> None:
    done(installed, tmp_path, "userturn", "new", "mine")
    study = tmp_path / "mine"
    assert "at most 8 answers" in done(installed, study, "snakemake", "-n")
    done(installed, study, "snakemake", "--cores", "1", "results/datasets/my-items.parquet")
    assert (study / "results/datasets/my-items.parquet").is_file()


def test_users_get_no_test_tools(wheel: ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    said = wheel.read(name).decode()
    asked = {line.split()[1].split(";")[0] for line in said.splitlines() if "Requires-Dist" in line}
    assert not {"pytest", "mypy", "ruff", "playwright", "hypothesis"} & asked
    assert {"transformers", "posttrain", "vllm", "slurm"} == {
        line.split()[1] for line in said.splitlines() if line.startswith("Provides-Extra")
    }
