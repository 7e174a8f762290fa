"""A study on a real SLURM cluster: each model loaded once, nothing lost, nothing done twice.

The nodes are virtual and their GPUs make-believe: what is tested is scheduling, not computing.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.slurm.cluster import (
    PATIENCE,
    Cluster,
    project,
    reason_to_skip,
    running_cluster,
    wait_for,
    write_study,
)
from tests.workflow import ROOT, SNAKEMAKE, copy_project, journal_lines, n_requests
from userturn.leases import held

pytestmark = pytest.mark.slurm

NEWCOMER = "results/sweeps/newcomer/1of1.json"
N_REQUESTS = 100  # 20 answers, and 20 user turns in each of four cells


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    reason = reason_to_skip()
    if reason is not None:
        pytest.skip(reason)
    with running_cluster() as started:
        yield started


def log(folder: Path, model: str) -> str:
    """Return the log of a model's last sweep."""
    return (folder / "logs" / "sweep" / model / "1of1.log").read_text()


def wait_for_lines(folder: Path, model: str, n: int) -> None:
    wait_for(lambda: len(journal_lines(folder, model)) >= n, f"{n} requests of {model}")


def errors(folder: Path) -> set[str]:
    lines = (folder / "run.log").read_text().splitlines()
    return {line for line in lines if line.startswith("error: ")}


def states(cluster: Cluster, folder: Path, model: str) -> list[str]:
    """Return how each of the jobs that swept a model ended."""
    comment = f"rule_sweep_wildcards_{model}_1of1"
    jobs = [job for job in cluster.jobs(folder) if job["Comment"] == comment]
    return [job["State"].split()[0] for job in jobs]


def sweep_plan(folder: Path, *targets: str) -> str:
    """Return what a dry run would do for some targets."""
    command = [SNAKEMAKE, *targets, "-n", "--configfile", "study.yaml"]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True).stdout


def test_demo_grid_is_swept_by_one_job_with_the_gpus_of_its_model(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = copy_project(tmp_path / "demo")
    (folder / "slurm").symlink_to("profiles/slurm")
    study = yaml.safe_load((ROOT / "profiles" / "demo" / "study.yaml").read_text())
    study["models"]["smollm2-135m"] |= {"gpus": 2, "gpu_model": "h100", "mem_mb": 8000}
    if os.environ.get("USERTURN_DEMO") != "whole":
        for dataset in study["datasets"].values():
            dataset["limit"] = 3
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    assert cluster.run(folder) == 0, (folder / "run.log").read_text()
    (job,) = cluster.jobs(folder)
    assert (job["Partition"], job["State"]) == ("gpu", "COMPLETED")
    assert {"gres/gpu=2", "node=1"} <= set(job["AllocTRES"].split(","))
    said = log(folder, "smollm2-135m")
    assert said.count("loading the model") == 1  # one process, and one load for all cells
    assert re.search(rf"SLURM job {job['JobID']} of \w+ on gpu\d, GPUs 0,1$", said, re.MULTILINE)
    assert held(folder / "results" / "leases" / "smollm2-135m") == {}
    assert (folder / "results" / "tables" / "rates.csv").is_file()


def test_sweeps_that_are_cancelled_timed_out_or_lose_their_node_are_finished_by_their_retries(
    cluster: Cluster, tmp_path: Path
) -> None:
    names = ("cancelled", "bereft", "late", "warned")
    # Two GPUs each, so that each has a node of its own.
    models: dict[str, dict[str, object]] = {name: {"gpus": 2} for name in names}
    folder = project(tmp_path / "faults", models)
    markers = [f"results/sweeps/{model}/1of1.json" for model in models]
    driver = cluster.start(folder, *markers, "--retries", "4")
    for model in models:
        wait_for_lines(folder, model, 22)
        job = cluster.running(folder, model)
        assert job is not None
        if model == "cancelled":
            cluster.call("scancel", job)
        elif model == "late":
            cluster.call("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        elif model == "warned":
            cluster.call("scancel", "--signal=USR1", job)
        else:
            node = cluster.call("squeue", "-h", "-j", job, "-o", "%N").strip()
            cluster.control("node-down", node)
    write_study(folder, models | {"newcomer": {}})  # a model is added while the study runs
    assert driver.wait(timeout=PATIENCE) == 0, (folder / "run.log").read_text()
    cluster.control("node-up", node)
    fates = ("CANCELLED", "NODE_FAIL", "TIMEOUT", "FAILED")
    for model, fate in zip(models, fates, strict=True):
        assert n_requests(folder, model=model) == N_REQUESTS, model
        first, *_, last = states(cluster, folder, model)
        assert (first, last) == (fate, "COMPLETED")
    said = "\n".join(errors(folder))
    assert "sweep late: stopped by SIGTERM with" in said
    assert "sweep warned: stopped by SIGUSR1 with" in said
    assert "Nothing to be done" in sweep_plan(folder, *markers)
    assert re.search(r"^sweep +1$", sweep_plan(folder, NEWCOMER), re.MULTILINE)


def test_after_a_killed_driver_its_jobs_are_neither_lost_nor_doubled(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = project(tmp_path / "killed", {"tiny": {}})
    marker = "results/sweeps/tiny/1of1.json"
    driver = cluster.start(folder, marker)
    wait_for_lines(folder, "tiny", 22)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    orphan = cluster.running(folder, "tiny")
    assert orphan is not None
    assert cluster.run(folder, marker, "--retries", "0") == 1  # the same command, too early
    (said,) = errors(folder)
    assert f"is being swept by SLURM job {orphan} of " in said
    assert f"`scancel {orphan}`" in said
    cluster.call("scancel", orphan)
    assert cluster.run(folder, marker) == 0, (folder / "run.log").read_text()
    assert n_requests(folder) == N_REQUESTS


def test_doctor_names_what_a_cluster_would_refuse(cluster: Cluster, tmp_path: Path) -> None:
    folder = project(tmp_path / "sick", {"greedy": {"gpus": 9}, "modest": {}})
    command = [SNAKEMAKE.with_name("userturn"), "doctor", "--configfile", "study.yaml"]
    done = subprocess.run(
        command, cwd=folder, text=True, capture_output=True, env=cluster.environment
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "error: 1 of 3 things would fail"
    assert "job of model greedy" in lines[2]
    assert "Requested node configuration is not available" in lines[2]
    assert lines[3].startswith("ok   job of model modest")


def test_doctor_sees_a_node_through_a_job_of_its_own(cluster: Cluster, tmp_path: Path) -> None:
    folder = project(tmp_path / "node", {"tiny": {}, "lost": {}})
    write_study(folder, {"tiny": {}, "lost": {"source": "nobody/never-fetched"}})
    command = [SNAKEMAKE.with_name("userturn"), "doctor", "--configfile", "study.yaml"]
    environment = cluster.environment | {"HF_HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, env=environment)
    bad = [line for line in done.stderr.splitlines() if line.startswith("FAIL")]
    assert [re.sub(r"gpu\d", "NODE", line).split(":")[0] for line in bad] == [
        "FAIL NODE computes on the 1 GPU it was given",  # make-believe
        "FAIL NODE has model lost",
        "FAIL NODE has dataset word-problems",  # not prepared yet
    ]
    assert re.search(r"^ok   gpu\d has model tiny$", done.stderr, re.MULTILINE)
    shutil.rmtree(folder)
