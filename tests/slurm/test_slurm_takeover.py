"""What a killed driver left in SLURM's queue is waited for and taken over by the next one."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.slurm.cluster import (
    N_REQUESTS,
    PATIENCE,
    Cluster,
    errors,
    project,
    sweep_plan,
    sweeps,
    wait_for,
    wait_for_lines,
)
from tests.support.held_engine import ALLOWED, hold_engines
from tests.support.snakemake_runs import ROOT, n_requests

pytestmark = pytest.mark.slurm


def test_what_a_killed_driver_left_is_waited_for_and_taken_over_also_without_slurm_for_a_while(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = project(tmp_path / "killed", {"kept": {}, "cancelled": {}})
    slow_engine = hold_engines(tmp_path / "held", ROOT)
    (folder / ALLOWED).write_text("22\n")  # of a job's requests: it outlives its driver
    markers = [f"results/sweeps/{model}/1of1.json" for model in ("kept", "cancelled")]
    driver = cluster.start(folder, *markers, **slow_engine)
    for model in ("kept", "cancelled"):
        wait_for_lines(folder, model, 22)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    kept, cancelled = (cluster.running(folder, model) for model in ("kept", "cancelled"))
    driver = cluster.start(folder, *markers, **slow_engine)  # the same command, too early
    for orphan in (kept, cancelled):
        said = f"waits for SLURM job {orphan} (running), which does the same: `scancel {orphan}`"
        wait_for(lambda said=said: said in (folder / "run.log").read_text(), said)
    cluster.call("scancel", str(cancelled))
    wait_for_lines(folder, "cancelled", 44)  # by another job
    be_away(cluster)
    (folder / ALLOWED).unlink()
    assert driver.wait(timeout=PATIENCE) == 0, (folder / "run.log").read_text()
    for model, states in (("kept", ["COMPLETED"]), ("cancelled", ["CANCELLED", "COMPLETED"])):
        assert n_requests(folder, model=model) == N_REQUESTS
        assert [job["State"].split()[0] for job in sweeps(cluster, folder, model)] == states
    assert "Nothing to be done" in sweep_plan(folder, *markers)
    assert errors(folder) <= {line for line in errors(folder) if "stopped by SIGTERM" in line}


def be_away(cluster: Cluster) -> None:
    """Take SLURM's controller away for some looks of the driver, and its accounting for half."""
    cluster.control("away", "slurmctld")
    cluster.control("away", "slurmdbd")
    time.sleep(12)  # longer than squeue tries
    cluster.control("back", "slurmdbd")
    time.sleep(12)
    cluster.control("back", "slurmctld")
