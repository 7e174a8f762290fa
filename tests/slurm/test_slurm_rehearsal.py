"""A small rehearsal: nothing is asked twice, every run of a job is accounted, audit is clean."""

import os
import re
import signal
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

import numpy as np
import pytest
import yaml

from tests.slurm.cluster import Cluster, wait_for
from tests.slurm.rehearsal import HELD, findings, held_models, write_project
from tests.support.held_engine import ALLOWED, hold_engines
from tests.support.instant_engine import AT_START
from tests.support.snakemake_runs import ROOT

pytestmark = pytest.mark.slurm

WIDTH = Namespace(models=2, datasets=2, temperatures=1, perturbations=1, items=3)
WIDER = Namespace(models=6, datasets=2, temperatures=2, perturbations=1, items=3)
N_KILLS = 20
FEW = {"planted": 0, "chance_floor": 0, "edited": 0, "labelled": False, "injected": False}


def small_project(folder: Path, width: Namespace) -> dict[str, list[str]]:
    """Write a study of a grid's first corner, without controls, and return the corner."""
    selection = write_project(folder, width)
    study = {"run": selection, "controls": {"human": []} | FEW}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    return selection


def test_grid_whose_driver_and_sweep_are_requeued_passes_every_check_of_the_rehearsal(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    selection = small_project(folder, WIDTH)
    models = selection["models"]
    (folder / ALLOWED).write_text(f"{HELD}\n")
    engine = hold_engines(tmp_path / "engine", ROOT, AT_START)
    driver = cluster.start_as_job(folder, **engine)
    wait_for(lambda: held_models(folder, models) == models, f"{HELD} requests of {models}")
    for job in (driver, str(cluster.running(folder, models[0]))):
        cluster.call("scontrol", "requeue", job)
    said = r"^sweep \S+ 1of1 waits for SLURM job \d+ \((running|pending)\), which does the same"
    waits = lambda: len(re.findall(said, (folder / "run.log").read_text(), re.M)) == 2  # noqa: E731
    wait_for(waits, "the second run of the driver")
    (folder / ALLOWED).unlink()
    assert cluster.ended_as(driver) == "COMPLETED", (folder / "run.log").read_text()[-5000:]
    monkeypatch.setenv("PATH", cluster.environment["PATH"])  # for sacct
    assert list(findings(cluster, folder, selection, {"REQUEUED"})) == []
    assert len(cluster.jobs(folder)) == 3  # two sweeps, one of which ran twice


@pytest.mark.long
def test_driver_killed_twenty_times_and_started_at_once_leaves_nothing_behind(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    selection = small_project(folder, WIDER)
    engine = hold_engines(tmp_path / "engine", ROOT, AT_START)
    (folder / ALLOWED).write_text(f"{HELD}\n")
    for kill, moment in enumerate(np.random.default_rng(20).uniform(1, 30, N_KILLS)):
        if kill == N_KILLS // 2:  # the others come while cells are collected and judged
            (folder / ALLOWED).unlink()
        driver = cluster.start(folder, **engine)
        with suppress(TimeoutExpired):
            driver.wait(timeout=moment)  # seconds from its start
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
    assert cluster.run(folder, **engine) == 0, (folder / "run.log").read_text()[-5000:]
    monkeypatch.setenv("PATH", cluster.environment["PATH"])  # for sacct
    assert list(findings(cluster, folder, selection, {"COMPLETED"})) == []
    assert {job["State"] for job in cluster.jobs(folder)} == {"COMPLETED"}
