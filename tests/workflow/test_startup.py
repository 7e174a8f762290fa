"""Reading the workflow is cheap: every start of Snakemake, on every node, pays for it; a dry run.

An import contract cannot say this: it counts imports inside functions too, and these are how heavy
packages are kept out of the start.
"""

import logging
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_executor_plugins.settings import SharedFSUsage

from tests.support.snakemake_runs import ROOT, copy_project
from userturn.config.load import load_study
from userturn.errors import ConfigError
from userturn.storage.files import write_json
from userturn.storage.leases import lease
from userturn.workflow.run_folder import check_shared_disk
from userturn.workflow.startup import (
    HINT,
    JOBS_LISTED,
    FewJobs,
    ShortRun,
    begin,
    check_given_config_files,
    check_results,
    checked_study,
    keep_private,
)
from userturn.workflow.study import Study

OF_EVERY_CELL = "generation.collect", "judges.judge", "humans.sample", "grading.grade"
HEAVY = ["polars", "pyarrow", "scipy", "torch", "transformers", "vllm", "datasets", "altair"]


def test_reading_the_workflow_imports_no_heavy_package() -> None:
    code = f"import sys, userturn.workflow.startup; print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_processes_that_each_cell_starts_import_little_but_polars() -> None:
    imports = "".join(f"import userturn.{name}; " for name in OF_EVERY_CELL)
    heavy = [*HEAVY[1:], "numpy", "jsonschema"]
    code = f"import sys; {imports}print([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_jobs_without_a_disk_in_common_end_the_run_in_a_sentence() -> None:
    def workflow(shared: frozenset[SharedFSUsage]) -> Any:
        return SimpleNamespace(storage_settings=SimpleNamespace(shared_fs_usage=shared))

    check_shared_disk(workflow(SharedFSUsage.all()))
    check_shared_disk(workflow(SharedFSUsage.all() - {SharedFSUsage.SOFTWARE_DEPLOYMENT}))
    for shared in (frozenset(), SharedFSUsage.all() - {SharedFSUsage.INPUT_OUTPUT}):
        with pytest.raises(SystemExit, match=r"share no disk .*input-output.* `endpoint`"):
            check_shared_disk(workflow(shared))


@pytest.mark.parametrize("given", [["--configfile", "good", "bad"], ["--configfiles=bad", "-n"]])
def test_every_configuration_file_of_a_command_is_looked_at(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("config.yaml", "a: 1"), ("good", "b: 2"), ("bad", "[c]")):
        Path(name).write_text(text)
    check_given_config_files(["--cores", "2", "-n"])
    with pytest.raises(SystemExit, match="error: bad: holds a list"):
        check_given_config_files([*given, "--cores", "2"])
    Path("config.yaml").write_text("")
    with pytest.raises(SystemExit, match="holds nothing"):
        check_given_config_files([])
    check_given_config_files(["--directory", "elsewhere"])


def test_what_snakemake_would_refuse_in_a_traceback_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text("a: 1")
    check_given_config_files(["--config", "seed=1", "run={models: [tiny]}"])
    with pytest.raises(SystemExit, match="--config: found 'seed', expected a key of"):
        check_given_config_files(["-n", "--config", "seed", "--cores", "2"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "config.yaml"))
    with pytest.raises(SystemExit, match="set XDG_CACHE_HOME to a folder that can be written"):
        check_given_config_files([])
    monkeypatch.delenv("XDG_CACHE_HOME")
    for scratch in ("/nowhere", str(tmp_path)):
        monkeypatch.setenv("TMPDIR", scratch)
        check_given_config_files([])
    monkeypatch.setenv("TMPDIR", "/proc")  # where nobody makes a file, root neither
    with pytest.raises(SystemExit, match=r"cannot write into '/proc' .*set TMPDIR to a folder"):
        check_given_config_files([])


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.chdir(copy_project(tmp_path / "project"))
    Path("models", "tiny").mkdir(parents=True)
    Path("models", "tiny", "config.json").write_text("{}")
    return checked_study(load_study(["study.yaml"]))


@pytest.mark.parametrize("damage", ["", "[]", "{}", "3", '{"pending": 3, "described_as"', "\0"])
def test_damaged_files_of_a_study_are_as_if_they_were_not_there(study: Study, damage: str) -> None:
    grid = study.grid
    before = study.generation.to_finish("tiny", "1of1")
    described = {"identity": {"source": "s"}}
    write_json(described, grid.results / "models" / "tiny.json", grid.model_fingerprint("tiny"))
    for name in ("sweeps/tiny/1of1.json", "sweeps/tiny/finished/1of1.json", "study.json"):
        path = grid.results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(damage)
    requests = grid.requests_folder("tiny", "word-problems", grid.cell_identity(grid.cells[0]))
    requests.mkdir(parents=True)  # so that the note is read
    assert Study(grid).generation.to_finish("tiny", "1of1") == before


@pytest.mark.parametrize("is_swept", [False, True])
def test_marker_that_somebody_may_just_be_writing_is_not_laid_aside(
    study: Study, is_swept: bool
) -> None:
    grid = study.grid
    marker = grid.results / "sweeps" / "tiny" / "1of1.json"
    write_json({"pending": []}, marker, "")
    with lease(grid.leases_folder("tiny"), "1of1", lambda _: None) if is_swept else nullcontext():
        looked = Study(grid)
    looked.generation.void_markers()  # its requests are pending
    assert marker.exists() == is_swept


@pytest.mark.parametrize(("private", "mode"), [(False, 0o644), (True, 0o600)])
def test_what_is_written_of_private_datasets_is_readable_by_nobody_else(
    study: Study, tmp_path: Path, private: bool, mode: int
) -> None:
    before = os.umask(0o022)
    try:
        study.grid.datasets["word-problems"]["private"] = private
        keep_private(study)
        (tmp_path / "file").write_text("row")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_results_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    results = tmp_path / "results"
    check_results(results)
    results.symlink_to("nowhere")
    with pytest.raises(ConfigError, match="is not a writable folder"):
        check_results(results)


def test_a_file_where_snakemake_keeps_its_own_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("USERTURN_DEFAULT_GC", "1")
    Path(".snakemake").touch()
    with pytest.raises(SystemExit, match=r"error: '.snakemake' is in the way"):
        begin([], is_driver=True)


@pytest.mark.parametrize(
    "name",
    ["polars.py", "datasets.py", "openai.py", "userturn.py", "random.py", "yaml/__init__.py"],
)
def test_file_that_would_be_run_in_place_of_a_library_is_named_and_not_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("import sys\nsys.exit('run')\n")
    path = name.removesuffix("/__init__.py")
    with pytest.raises(SystemExit, match=f"^error: '{path}' has the name of a Python library"):
        check_given_config_files(["--directory", "."])
    (tmp_path / "elsewhere").mkdir()
    check_given_config_files(["--directory", ".", "--snakefile", "elsewhere/Snakefile"])


def test_files_of_other_names_stand_in_no_ones_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("datasets", "data", "my_analysis"):  # a folder is a package by __init__.py
        (tmp_path / folder).mkdir()
    for name in ("plot_rates.py", "polars.txt", "my_analysis/__init__.py", "datasets/polars.py"):
        (tmp_path / name).write_text("")
    check_given_config_files(["--directory", "."])
    monkeypatch.chdir(ROOT)
    check_given_config_files([])


def printed(n_jobs: int) -> list[str]:
    """Return what passes of a dry run: the table, its jobs, the table again, and an end."""
    table: dict[str, Any] = {"event": "run_info", "stats": {"sweep": n_jobs, "total": n_jobs}}
    said: list[tuple[str, dict[str, Any]]] = [
        ("table\n", table),
        *[("job", {"event": "job_info"})] * n_jobs,
        ("table\n", table),
        ("end", {}),
    ]
    shown = FewJobs()
    records = [logging.makeLogRecord({"msg": text, **more}) for text, more in said]
    return [str(record.msg) for record in records if shown.filter(record)]


@pytest.mark.parametrize("n_jobs", [1, JOBS_LISTED])
def test_few_jobs_are_listed_between_both_tables(n_jobs: int) -> None:
    assert printed(n_jobs) == ["table\n", *["job"] * n_jobs, "table\n", "end"]


def test_more_jobs_are_counted_once_and_the_reader_is_told_how_to_list_them() -> None:
    assert printed(JOBS_LISTED + 1) == [f"table\n{HINT}", "end"]


def test_short_run_says_how_many_jobs_there_are_each_fifth_of_them_and_what_failed() -> None:
    said: list[tuple[str | None, dict[str, Any]]] = [
        ("Building DAG of jobs...", {}),
        ("a long table", {"event": "run_info", "stats": {"judge": 9, "sweep": 1, "total": 10}}),
        ("Select jobs to execute...", {}),
        (None, {"event": "job_info"}),
        ("Finished jobid: 1", {"event": "job_finished"}),
        *((f"{n} of 10", {"event": "progress", "done": n, "total": 10}) for n in range(1, 11)),
        ("a job failed", {"event": "job_error"}),
        ("a long table", {"event": "run_info", "stats": {"judge": 9, "sweep": 1, "total": 10}}),
    ]
    shown = ShortRun()
    records = [logging.makeLogRecord({"msg": text, **more}) for text, more in said]
    passed = [
        (record.msg, record.__dict__.get("event")) for record in records if shown.filter(record)
    ]
    assert passed == [
        ("10 jobs of 2 rules", None),
        *((f"{n} of 10", "progress") for n in (2, 4, 6, 8, 10)),
        ("a job failed", "job_error"),
    ]
