"""Bad input ends in one clear sentence and an exit code, and nothing is lost."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.test_rerun import change_study
from tests.tiny_model import write_tiny_model
from tests.workflow import CELLS_ALONE, copy_project, n_requests, run, snakemake

WORD_PROBLEMS = Path("data/demo/word_problems.jsonl")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A project without results, whose model is made when a test needs it."""
    folder = copy_project(tmp_path / "project")
    (folder / "models" / "tiny").mkdir(parents=True)
    return folder


def fails_with(folder: Path, *arguments: str) -> str:
    """Run, expect failure, and return the one line that says why."""
    done = snakemake(folder, *arguments)
    assert done.returncode == 1, done.stdout
    errors = {line for line in done.stdout.splitlines() if line.startswith("error: ")}
    assert len(errors) == 1, done.stdout
    return errors.pop()


def test_config_that_is_not_yaml_is_told_with_its_line(fresh: Path) -> None:
    path = fresh / "config.yaml"
    n_lines = len(path.read_text().splitlines())
    path.write_text(path.read_text() + "oops: [1, 2\n")
    assert fails_with(fresh, "-n").startswith(f"error: config.yaml, line {n_lines + 2}: not YAML")


def test_misspelt_selection_is_told_before_anything_runs(fresh: Path) -> None:
    change_study(fresh, run__models=["tinny"])
    said = fails_with(fresh, "-n")
    assert said == "error: run.models: 'tinny' is not defined, did you mean 'tiny'?"


def test_model_folder_that_does_not_exist_is_told_before_anything_runs(fresh: Path) -> None:
    change_study(fresh, models__tiny__source="./models/nowhere")
    assert "model source './models/nowhere' does not exist" in fails_with(fresh, "-n")


def test_results_that_may_not_be_written_are_told_before_anything_runs(fresh: Path) -> None:
    (fresh / "results").write_text("a file, not a folder")
    assert "'results' is not a folder that may be written" in fails_with(fresh, "-n")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": "wp-01", "question": "Again?"}, "line 41: the id 'wp-01' is that of"),
        ({"id": "x", "question": "  "}, "line 41: "),
        ("{'id': ", "line 41: not JSON"),
    ],
    ids=["duplicate id", "no user message", "not JSON"],
)
def test_bad_row_of_a_dataset_is_told_with_its_line(fresh: Path, row: object, said: str) -> None:
    line = row if isinstance(row, str) else json.dumps(row | {"answer": "1"})
    with (fresh / WORD_PROBLEMS).open("a") as file:
        file.write(f"{line}\n")
    assert said in fails_with(fresh, "results/datasets/word-problems.parquet")


def test_model_without_chat_template_is_refused(fresh: Path) -> None:
    folder = write_tiny_model(fresh / "models" / "tiny")
    (folder / "chat_template.jinja").unlink()
    assert "has no chat template" in fails_with(fresh, "results/models/tiny.json")


def test_model_without_tokenizer_is_refused(fresh: Path) -> None:
    folder = write_tiny_model(fresh / "models" / "tiny")
    (folder / "tokenizer.json").unlink()
    assert "has no tokenizer" in fails_with(fresh, "results/models/tiny.json")


def test_full_disk_is_told_and_the_same_command_goes_on(study: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    change_study(study, run__temperatures=[0, 0.7, 1.0])
    requests = study / "results" / "requests"
    requests.rename(study / "kept")
    requests.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", requests])
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        assert "the disk is full" in fails_with(study)
        n_before = n_requests(study)
    finally:
        subprocess.run(["umount", requests], check=True)
    requests.rmdir()
    (study / "kept").rename(requests)
    run(study, *CELLS_ALONE)
    assert n_requests(study) >= n_before
