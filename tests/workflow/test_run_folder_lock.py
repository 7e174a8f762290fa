"""One run at a time in a folder, whatever host its driver dies on and whatever locks work there."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from userturn.errors import UserError
from userturn.storage.leases import lease
from userturn.workflow import run_folder
from userturn.workflow.run_folder import (
    DRIVER,
    is_alone,
    leave_to_others,
    only_looks,
    release_abandoned_lock,
    take_folder,
)

NO_FLOCK = """
import errno, fcntl
def flock(*_): raise OSError(errno.ENOSYS, "Function not implemented")
fcntl.flock = flock
"""
OF_ITS_HOST = """
import fcntl
def flock(*_): pass  # what another host holds is not seen
fcntl.flock = flock
"""
PLACES = {  # the host of the second driver, and the locks there
    "same host": ("", ""),
    "same host without flock": ("", NO_FLOCK),
    "other host without flock": ("nodeb", NO_FLOCK),
    "other host with a flock of its own": ("nodeb", OF_ITS_HOST),
}
on_hosts = pytest.mark.parametrize(("host", "before"), PLACES.values(), ids=PLACES)
TAKE = """
import sys
import time
from pathlib import Path
from userturn.workflow.run_folder import take_folder
take_folder(Path(sys.argv[1]), patience=float(sys.argv[2]))
print("taken", flush=True)
sys.stdin.read()
"""
OWN = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']  # a name of its own


def has_uts() -> bool:
    return subprocess.run([*OWN, "other", "true"], capture_output=True).returncode == 0


def driver(
    folder: Path, host: str = "", before: str = "", patience: float = 2, job: str = ""
) -> "subprocess.Popen[str]":
    """Start a driver that holds the folder until it is killed, perhaps on a host of this name.

    It may be a job of SLURM.
    """
    command = [sys.executable, "-c", before + TAKE, str(folder), str(patience)]
    return subprocess.Popen(
        [*OWN, host, *command] if host else command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | ({"SLURM_JOB_ID": job} if job else {}),
    )


def taken(process: "subprocess.Popen[str]") -> bool:
    """Return whether a driver got the folder; it is at work then."""
    assert process.stdout is not None
    return "taken\n" in process.stdout  # read up to it


def snakemake_lock(folder: Path) -> Path:
    lock = folder / "locks" / "0.output.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text("results/x\n")
    return lock


def begun(
    folder: Path, host: str, before: str, job: str = ""
) -> tuple[subprocess.Popen[str], Path]:
    """Return a driver that has taken a folder, on a host of its own if another is to come."""
    if host and not has_uts():
        pytest.skip("no host of another name can be made here")
    first = driver(folder, "nodea" if host else "", before, job=job)
    assert taken(first)
    return first, snakemake_lock(folder)


@on_hosts
@pytest.mark.parametrize("job", ["", "17"], ids=["killed", "requeued"])  # as the same job
def test_folder_of_a_dead_driver_is_taken_by_the_next_one(
    tmp_path: Path, host: str, before: str, job: str
) -> None:
    first, lock = begun(tmp_path, host, before, job)
    if job:
        first.terminate()
        time.sleep(0.1)  # SLURM kills what has not ended by then
    first.kill()
    first.communicate()
    second = driver(tmp_path, host, before, job=job)
    assert taken(second)
    assert not lock.exists()
    second.kill()
    second.communicate()


@on_hosts
def test_second_driver_ends_in_a_sentence_with_host_and_cure(
    tmp_path: Path, host: str, before: str
) -> None:
    first, lock = begun(tmp_path, host, before)
    second = driver(tmp_path, host, before, patience=60)
    said = second.communicate()[1].splitlines()[-1]
    at = "nodea" if host else os.uname().nodename
    assert f"on {at}, which is at work; wait until it ends, or end it on {at}: `kill " in said
    assert lock.exists()
    first.kill()
    first.communicate()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_folder, "_runs", [])
    return tmp_path / ".snakemake"


def test_a_run_that_ends_gives_the_folder_back(folder: Path) -> None:
    take_folder(folder)
    assert is_alone()
    run_folder._run_lease.close()
    take_folder(folder, patience=0)
    run_folder._run_lease.close()


def test_lock_that_no_run_of_a_study_has_taken_is_left_to_snakemake(folder: Path) -> None:
    lock = snakemake_lock(folder)
    release_abandoned_lock(folder)
    take_folder(folder)
    assert lock.exists()
    run_folder._run_lease.close()


def test_who_only_looks_removes_a_dead_lock_and_no_living_ones_and_takes_nothing(
    folder: Path,
) -> None:
    first = driver(folder)
    assert taken(first)
    lock = snakemake_lock(folder)
    release_abandoned_lock(folder)
    assert lock.exists() and not is_alone()
    first.kill()
    first.communicate()
    release_abandoned_lock(folder)
    assert not lock.exists() and not is_alone()
    assert len(list((folder / DRIVER).iterdir())) == 1


def test_run_whose_driver_is_on_another_machine_and_gives_signs_of_life_is_left_alone(
    folder: Path,
) -> None:
    take_folder(folder)
    (lease,) = (folder / DRIVER).iterdir()
    content = json.loads(lease.read_text())
    content["owner"] |= {"machine": ["elsewhere", "", ""], "job": "17", "node": "cpu3"}
    lease.write_text(json.dumps(content))  # this process goes on renewing it
    with pytest.raises(UserError, match=r"SLURM job 17 .* end it on cpu3: `scancel 17`"):
        take_folder(folder)
    run_folder._run_lease.close()


@pytest.mark.parametrize(
    ("arguments", "looks"),
    [
        (["--cores", "2"], False),
        (["-n"], True),
        (["--report=r.html"], True),
        (["results/-n"], False),
        (["--unlock"], True),
    ],
)
def test_options_that_make_nothing_are_known(arguments: list[str], looks: bool) -> None:
    assert only_looks(arguments) == looks


TARGET = ["snakemake", "--target-jobs", "sweep:model=m,shard=1of2", "--mode", "remote"]


@pytest.fixture
def grid(tmp_path: Path) -> Any:
    return SimpleNamespace(leases_folder=lambda model: tmp_path / "leases" / model)


@pytest.mark.parametrize("shard", ["1of2", "1of1"])
def test_a_job_whose_items_another_one_sweeps_ends_before_it_removes_anything(
    grid: Any, shard: str
) -> None:
    with lease(grid.leases_folder("m"), shard, lambda _: None, pause=0.05):
        with pytest.raises(SystemExit, match=f"error: shard {shard} of model m is being swept by"):
            leave_to_others(grid, TARGET)
        for other in ("sweep:model=n,shard=1of2", "judge:model=m,shard=1of2", "sweep:model=m"):
            leave_to_others(grid, [other])
    leave_to_others(grid, TARGET)


def test_a_job_that_slurm_runs_again_does_not_wait_for_its_own_earlier_run(
    grid: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "15")
    with lease(grid.leases_folder("m"), "1of2", lambda _: None, pause=0.05):
        leave_to_others(grid, TARGET)
