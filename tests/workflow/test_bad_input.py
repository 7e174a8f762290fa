"""Bad input ends in one clear sentence and an exit code, and nothing is lost."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.snakemake_runs import CELLS_ALONE, copy_project, n_requests, run, snakemake
from tests.support.tiny_model import write_tiny_model
from tests.workflow.test_rerun import change_study

pytestmark = pytest.mark.slow

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


def failures(folder: Path, targets: list[str]) -> Iterator[tuple[str, str]]:
    """Run jobs that all fail, and yield the name in each target with the one line that says why."""
    done = snakemake(folder, *targets, "--keep-going")
    assert done.returncode == 1, done.stdout
    for target in targets:
        name = Path(target).stem
        (log,) = folder.glob(f"logs/*/{name}.log")
        (said,) = {line for line in log.read_text().splitlines() if line.startswith("error: ")}
        assert said in done.stdout
        assert f"Error in rule {log.parent.name}:" in done.stdout
        assert f"log: {log.relative_to(folder)} " in done.stdout
        yield name, said


def test_config_that_is_not_yaml_is_told_with_its_line(fresh: Path) -> None:
    path = fresh / "config.yaml"
    n_lines = len(path.read_text().splitlines())
    path.write_text(path.read_text() + "oops: [1, 2\n")
    assert fails_with(fresh, "-n").startswith(f"error: config.yaml, line {n_lines + 2}: not YAML")


def test_study_file_that_snakemake_cannot_open_is_told_too(fresh: Path) -> None:
    (fresh / "study.yaml").write_text("run: {models: [tiny]}\n", "utf-16")
    assert (
        fails_with(fresh, "-n") == "error: study.yaml: byte 0 is not UTF-8; save the file in UTF-8"
    )


def test_misspelt_selection_is_told_before_anything_runs(fresh: Path) -> None:
    change_study(fresh, run__models=["tinny"])
    said = fails_with(fresh, "-n")
    assert said == "error: run.models: 'tinny' is not defined, did you mean 'tiny'?"


def test_model_folder_that_does_not_exist_is_told_before_anything_runs(fresh: Path) -> None:
    change_study(fresh, models__tiny__source="./models/nowhere")
    assert "model source './models/nowhere' does not exist" in fails_with(fresh, "-n")


def test_results_that_may_not_be_written_are_told_before_anything_runs(fresh: Path) -> None:
    (fresh / "results").write_text("a file, not a folder")
    assert "'results' is not a writable folder" in fails_with(fresh, "-n")


BAD_ROWS = {  # and what is said of each
    "duplicate": ({"id": "wp-01", "question": "Again?"}, "line 41: the id 'wp-01' is also that of"),
    "silent": ({"id": "x", "question": "  "}, "line 41: "),
    "broken": ("{'id': ", "line 41: not JSON"),
}


def test_bad_row_of_a_dataset_is_told_with_its_line(fresh: Path) -> None:
    rows = (fresh / WORD_PROBLEMS).read_text()
    line = yaml.safe_load((fresh / "study.yaml").read_text())["datasets"]["word-problems"]
    for name, (row, _) in BAD_ROWS.items():
        last = row if isinstance(row, str) else json.dumps(row | {"answer": "1"})
        (fresh / f"data/{name}.jsonl").write_text(f"{rows}{last}\n")
    files = {name: line | {"file": f"data/{name}.jsonl"} for name in BAD_ROWS}
    change_study(fresh, run__datasets=list(files), datasets=files)
    for name, said in failures(fresh, [f"results/datasets/{name}.parquet" for name in files]):
        assert BAD_ROWS[name][1] in said


def test_model_without_tokenizer_or_chat_template_is_refused(fresh: Path) -> None:
    models = {"mute": "tokenizer.json", "plain": "chat_template.jinja"}
    for name, lost in models.items():
        (write_tiny_model(fresh / "models" / name) / lost).unlink()
    lines = {name: {"source": f"./models/{name}"} for name in models}
    change_study(fresh, run__models=list(models), models=lines)
    said = dict(failures(fresh, [f"results/models/{name}.json" for name in models]))
    assert "has no tokenizer" in said["mute"]
    assert "has no chat template" in said["plain"]


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
