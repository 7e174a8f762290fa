"""No job is run beside another one that does the same, and none fails that SLURM takes later."""

import json
import os
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from tests.support.tiny_grid import tiny_grid
from userturn.config import job_resources
from userturn.errors import UserError
from userturn.slurm.driver import Gate, stand_between
from userturn.sources.registry import asked_of
from userturn.storage.files import write_json
from userturn.storage.hashing import fingerprint
from userturn.storage.leases import lease, swept_now, this_owner
from userturn.storage.table_files import write_table
from userturn.study.grid import Grid
from userturn.study.model_description import read_description, request_identity
from userturn.study.sweep_notes import note_finished

PENDING = ["a1", "b2"]
ONE_CELL = {"temperatures": [0], "perturbations": ["none"]}
MARKER = Path("results/sweeps/m/1of1.json")
LINE = "{number}|{name}|{state}|None|gpu1|{folder}|rule_sweep_wildcards_m_1of1"


class Executor:
    """An executor that notes what it is told."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.finished: list[Any] = []
        self.tried_again: list[Any] = []
        self.failed: list[Any] = []
        self.errors: list[tuple[Any, str | None]] = []
        callbacks = {"finish_callback": self.finished.append, "error_callback": self.failed.append}
        self.workflow = SimpleNamespace(scheduler=SimpleNamespace(**callbacks))

    def run_jobs(self, jobs: list[Any]) -> None:
        self.ran += jobs

    def run_job(self, job: Any) -> None:
        self.tried_again.append(job)

    def cancel(self) -> None:
        self.ran.append("cancelled")

    def report_job_error(self, info: Any, msg: str | None = None, **_: Any) -> None:
        self.errors.append((info, msg))


def sweep(model: str = "m", attempt: int = 1) -> Any:
    """Return a job of Snakemake."""
    return SimpleNamespace(
        rule=SimpleNamespace(name="sweep"),
        wildcards={"model": model, "shard": "1of1"},
        params={"pending": PENDING},
        output=[str(MARKER).replace("/m/", f"/{model}/")],
        log=[f"logs/sweep/{model}/1of1.log"],
        attempt=attempt,
        restart_times=2,
        is_group=lambda: False,
    )


def within(seconds: float, what: Callable[[], object]) -> bool:
    deadline = time.monotonic() + seconds
    while not what() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(what())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder with a SLURM of which `queue` says what squeue prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job_resources, "_ends", {})
    (tmp_path / "bin").mkdir()
    for name, does in {"squeue": "cat queue", "scancel": 'echo "$@" > cancelled'}.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{does}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "queue").touch()
    return tmp_path


def gate(executor: Executor, in_doubt: tuple[str, ...] = (), grid: Any = None) -> Gate:
    leases = SimpleNamespace(leases_folder=lambda model: Path("results/leases") / model)
    return Gate(executor, grid or leases, "userturn_2", 0.05, frozenset(in_doubt))


def in_queue(here: Path, **job: str) -> None:
    line = {"number": "15", "name": "userturn_1", "state": "RUNNING", "folder": str(here)}
    (here / "queue").write_text(LINE.format(**line | job) + "\n")


def write_marker() -> None:
    MARKER.parent.mkdir(parents=True)
    write_json({"pending": PENDING}, MARKER, fingerprint(PENDING))


def test_job_that_nobody_does_is_run_at_once(folder: Path) -> None:
    executor, job = Executor(), sweep()
    gate(executor).executor.run_jobs([job])
    assert executor.ran == [job]


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "COMPLETING"])
def test_job_waits_for_that_of_a_killed_run_and_takes_over_what_it_made(
    folder: Path, state: str
) -> None:
    executor, job, other = Executor(), sweep(), sweep("other")
    in_queue(folder, state=state)
    gate(executor).executor.run_jobs([job, other])
    assert executor.ran == [other]  # others do not wait
    write_marker()
    time.sleep(0.3)
    assert not executor.finished  # its job still removes and checks its files
    (folder / "queue").write_text("")
    assert within(20, lambda: executor.finished == [job])
    assert executor.ran == [other]


def test_job_is_run_when_that_of_a_killed_run_ends_without_its_work(folder: Path) -> None:
    executor, job = Executor(), sweep()
    in_queue(folder)
    gate(executor).executor.run_jobs([job])
    (folder / "queue").write_text("")
    assert within(20, lambda: executor.ran == [job])
    assert not executor.finished


def test_what_was_asked_otherwise_is_not_taken_over(folder: Path) -> None:
    executor, job = Executor(), sweep()
    in_queue(folder)
    gate(executor, grid=tiny_grid(folder, 1, run=ONE_CELL)).executor.run_jobs([job])
    MARKER.parent.mkdir(parents=True)
    write_json({"pending": ["a1"]}, MARKER, fingerprint(["a1"]))
    (folder / "queue").write_text("")
    assert within(20, lambda: executor.ran == [job])


def test_what_a_requeued_job_finished_beside_collected_tables_is_taken_over(folder: Path) -> None:
    grid = tiny_grid(folder, 1, run=ONE_CELL)
    collected, *others = asked_of(grid, "tiny")
    executor, job = Executor(), sweep("tiny")
    job.params["pending"] = [of.identity for of in (collected, *others)]
    in_queue(folder)
    (folder / "queue").write_text((folder / "queue").read_text().replace("_m_", "_tiny_"))
    gate(executor, grid=grid).executor.run_jobs([job])
    assert not executor.ran
    write_table(pl.DataFrame(), grid.at(collected.path), collected.identity)
    left = sorted({of.identity for of in others})
    identity = request_identity(grid, "tiny", read_description(grid, "tiny"))
    note_finished(grid, "tiny", "1of1", {"items": left}, fingerprint(identity))
    write_json({"pending": left}, job.output[0], fingerprint(left))
    (folder / "queue").write_text("")
    assert within(20, lambda: executor.finished == [job])
    assert not executor.ran


def test_own_jobs_and_those_of_another_folder_keep_no_job_waiting(folder: Path) -> None:
    for other in ({"name": "userturn_2"}, {"folder": "/elsewhere"}):
        executor, job = Executor(), sweep()
        in_queue(folder, **other)
        gate(executor).executor.run_jobs([job])
        assert executor.ran == [job]


def test_job_waits_for_the_owner_of_a_lease_on_its_items_whatever_its_number_of_shards(
    folder: Path,
) -> None:
    executor, job = Executor(), sweep()
    with lease(Path("results/leases/m"), "2of3", lambda _: None, pause=0.05):
        gate(executor).executor.run_jobs([job])
        time.sleep(0.3)
        assert not executor.ran
    assert within(20, lambda: executor.ran == [job])


def test_lease_of_an_ended_process_is_given_back_before_a_job_is_submitted(folder: Path) -> None:
    executor, job, leases = Executor(), sweep(), Path("results/leases/m")
    leases.mkdir(parents=True)
    dead = {"owner": this_owner() | {"began": 1.0}, "beat": 3, "released": False}
    (leases / "1of1.000004.json").write_text(json.dumps(dead))
    gate(executor, in_doubt=("m",)).executor.run_jobs([job])
    assert within(20, lambda: executor.ran == [job])
    assert not swept_now(leases)


def test_what_was_finished_while_the_run_was_planned_is_taken_over(folder: Path) -> None:
    executor, job = Executor(), sweep()
    write_marker()
    gate(executor, in_doubt=("m",)).executor.run_jobs([job])
    assert within(20, lambda: executor.finished == [job])
    assert not executor.ran


def test_cancelled_run_cancels_also_the_job_that_it_waits_for(folder: Path) -> None:
    executor, job = Executor(), sweep()
    in_queue(folder)
    gate(executor).executor.run_jobs([job])
    executor.cancel()
    assert (folder / "cancelled").read_text() == "15\n"
    assert executor.ran == ["cancelled"]


def refused(job: Any, said: str) -> tuple[Any, str]:
    message = f"SLURM sbatch failed. The error message was 'sbatch: error: {said}'."
    return SimpleNamespace(job=job, external_jobid=None, aux=None), message


@pytest.mark.parametrize(
    "said",
    [
        "AssocMaxSubmitJobLimit",
        "QOSMaxSubmitJobPerUserLimit",
        "AssocGrpSubmitJobsLimit",
        "Batch job submission failed: Unable to contact slurm controller (connect failure)",
        "Batch job submission failed: Socket timed out on send/recv operation",
    ],
)
def test_refusal_that_passes_is_waited_for(folder: Path, said: str) -> None:
    executor, job = Executor(), sweep()
    in_queue(folder)
    gate(executor).executor.report_job_error(*refused(job, said))
    assert within(20, lambda: executor.tried_again == [job])
    assert not executor.errors and not executor.failed


@pytest.mark.parametrize("said", ["Invalid account", "AssocMaxSubmitJobLimit"])
def test_refusal_that_does_not_pass_is_an_error(folder: Path, said: str) -> None:
    executor, job = Executor(), sweep()  # no job is in the queue: the limit is 0
    info, message = refused(job, said)
    gate(executor).executor.report_job_error(info, message)
    assert executor.errors == [(info, message)]


def failed(job: Any, state: str, log: Path) -> tuple[Any, str]:
    info = SimpleNamespace(job=job, external_jobid="15", aux={"slurm_logfile": log})
    return info, f"SLURM-job '15' failed, SLURM status is: '{state}'. Detailed failure reason"


@pytest.mark.parametrize(
    ("state", "log", "grows"),
    [
        ("TIMEOUT", "", ["time"]),
        ("OUT_OF_MEMORY", "", ["memory"]),
        (
            "FAILED",
            "slurmstepd-gpu4: error: StepId=12.0 exceeded memory limit (553 > 314), being killed",
            ["memory"],
        ),
        ("FAILED", "slurmstepd: error: Exceeded job memory limit", ["memory"]),
        ("FAILED", "srun: error: gpu1.site: task 0: Out Of Memory", ["memory"]),
        (
            "FAILED",
            "slurmstepd: error: Detected 1 oom_kill event in StepId=3.0. Some of the step tasks",
            ["memory"],
        ),
        ("FAILED", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", []),
        ("CANCELLED", "", []),
    ],
)
def test_routine_end_is_one_line_and_the_next_attempt_gets_more_of_what_was_short(
    folder: Path, state: str, log: str, grows: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    executor, job, path = Executor(), sweep(), folder / "15.log"
    path.write_text(log)
    Path(job.log[0]).parent.mkdir(parents=True)
    Path(job.log[0]).write_text("error: sweep m: stopped by SIGTERM with 78 requests left\n")
    info, message = failed(job, state, path)
    gate(executor).executor.report_job_error(info, message)
    assert job_resources._ends.get(job.log[0], []) == grows
    if not grows:
        assert executor.errors == [(info, message)]
        return
    assert (executor.failed, executor.errors) == ([job], [])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("sweep m 1of1: SLURM job 15 r")
    assert "(sweep m: stopped by SIGTERM with 78 requests left); it is tried again" in line


def test_early_warning_of_a_time_limit_is_one_line_as_well(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    executor, job = Executor(), sweep()
    Path(job.log[0]).parent.mkdir(parents=True)
    Path(job.log[0]).write_text("error: sweep m: stopped by SIGUSR1 with 78 requests left\n")
    gate(executor).executor.report_job_error(*failed(job, "FAILED", folder / "15.log"))
    assert (executor.failed, executor.errors) == ([job], [])
    assert "tried again with more time" in capsys.readouterr().err


def test_last_attempt_that_ran_out_of_time_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    executor = Executor()
    gate(executor).executor.report_job_error(*failed(sweep(attempt=3), "TIMEOUT", folder / "15"))
    assert "no attempt is left: run the same command again" in capsys.readouterr().err


@pytest.mark.parametrize("lost", ["run_job", "report_job_error"])
def test_snakemake_without_a_name_that_the_gate_wraps_ends_the_run_in_a_sentence(lost: str) -> None:
    kept = {"run_jobs", "run_job", "cancel", "report_job_error"} - {lost}
    executor = SimpleNamespace(**dict.fromkeys(kept))
    names = ("finish_callback", "error_callback", "_local_executor")
    scheduler = SimpleNamespace(_executor=executor, **dict.fromkeys(names))
    with pytest.raises(UserError) as ended:
        stand_between(SimpleNamespace(scheduler=scheduler), cast("Grid", None), ())
    said = f"Snakemake {version('snakemake')} has no executor.{lost}, by which two jobs that do the"
    assert str(ended.value).startswith(said)
    assert "expected 9.27: install it with `make setup`" in str(ended.value)
