"""A study in a folder of its own runs as in the clone, wherever both are."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.slow import starting
from tests.support.snakemake_runs import ROOT, SNAKEMAKE
from userturn.cli.main import main
from userturn.config.load import config_files, load_config, load_study
from userturn.errors import UserError
from userturn.export.write_archive import project_files
from userturn.sources.registry import check_study
from userturn.workflow.job_record import read_record
from userturn.workflow.run_folder import TEMPLATE, write_study_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new study's folder, with a space in its name, as the present one."""
    made = tmp_path / "my study"
    assert main(["new", str(made)]) == 0
    monkeypatch.chdir(made)
    return made


def test_new_study_is_a_short_config_over_the_installed_one(folder: Path) -> None:
    short = yaml.safe_load((folder / "config.yaml").read_text())
    check_study(load_study())
    assert load_study() == load_config([ROOT / "config.yaml", folder / "config.yaml"])
    assert short.keys() <= load_study().keys() and len(short) < 10
    assert short["study"]["name"] == folder.name


def test_clone_is_configured_by_its_own_file_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert config_files() == [Path("config.yaml")]


def test_commands_work_in_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan"]) == 0
    assert "grid: 1 model x 1 dataset x 2 temperatures" in capsys.readouterr().out


def test_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="is not empty; expected a new folder"):
        write_study_folder(tmp_path)


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot be made .Not a directory.; name another"):
        write_study_folder(tmp_path / "file" / "study")


def test_export_takes_the_workflow_from_where_it_is_installed(folder: Path) -> None:
    files = project_files(folder / "results", {})
    assert files["Snakefile"] == ROOT / "Snakefile"
    assert {"rules/jobs.smk", "scripts/run_job.py", "config.yaml"} <= files.keys()


@pytest.mark.slow
def test_snakefile_of_a_new_study_is_formatted() -> None:
    command = [SNAKEMAKE.with_name("snakefmt"), "--check", ROOT / TEMPLATE / "Snakefile"]
    assert subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.slow
def test_results_of_the_clone_are_those_of_a_folder_of_its_own(
    finished_study: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(finished_study / "study.yaml", folder / "config.yaml")
    shutil.copytree(finished_study / "models", folder / "models")
    shutil.copytree(finished_study / "results", folder / "results", dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)  # not the study's folder
    assert "Nothing to be done" in snakemake(folder, "--dry-run")
    aliases = folder / "results" / "journal" / "aliases.json"
    aliases.unlink()  # written before the first job of a run
    (folder / "results" / "tables" / "judges.csv").unlink()
    snakemake(folder, "--until", "measure_judges")
    assert aliases.is_file()
    assert [log for log in (folder / "logs").glob("*.log") if not log.stat().st_size] == []
    record = read_record(folder / "results" / "provenance" / "measure_judges.json")
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    assert record is not None and record["made"]["commit"] == (commit or None)
    assert (folder / "results" / "tables" / "judges.csv").is_file()


def snakemake(folder: Path, *arguments: str) -> str:
    """Run a study in its folder from another one; the output is returned."""
    starting("Snakemake")
    place = ["--snakefile", str(folder / "Snakefile"), "--directory", str(folder)]
    done = subprocess.run(
        [SNAKEMAKE, *place, "--cores", "2", *arguments], text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
