"""GPU hours are those of `sacct -D` on a real SLURM, to the second, whatever becomes of a job."""

from argparse import Namespace
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster, wait_for
from tests.slurm.rehearsal import gpus_of
from userturn.cli import jobs
from userturn.slurm.accounting import JOB_LOGS

pytestmark = pytest.mark.slurm

RUNS = {"whole": 1, "cancelled": 1, "requeued": 2, "preempted": 2}  # of the job of each model


def submit(cluster: Cluster, folder: Path, model: str) -> str:
    """Submit a job without a comment, which logs as the sweep of a model, and return its number."""
    logs = folder / JOB_LOGS / "rule_sweep" / f"{model}_1of1"
    logs.mkdir(parents=True)
    asked = ["-p", "gpu", "--gpus=2", "-N1", "-t", "5", "--requeue", "-o", f"{logs}/%j.log"]
    return cluster.call("sbatch", "--parsable", *asked, "--wrap", "sleep 8").strip()


def test_gpu_hours_are_those_of_sacct_also_of_requeued_jobs_and_without_comments(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = {model: submit(cluster, tmp_path, model) for model in RUNS}
    some = ",".join(ids.values())
    running = ("squeue", "-h", "-t", "R", "-j", some, "-o", "%i")
    wait_for(lambda: len(cluster.call(*running).split()) == len(ids), "four running jobs")
    cluster.call("scancel", ids["cancelled"])
    cluster.call("scontrol", "requeue", ids["requeued"])
    node = cluster.call("squeue", "-h", "-j", ids["preempted"], "-o", "%N").strip()
    urgent = ["-p", "urgent", "--gpus=2", "-N1", f"--nodelist={node}", "-t", "1"]
    cluster.call("sbatch", *urgent, "-o", "/dev/null", "--wrap", "true")

    def told() -> list[list[str]]:
        said = cluster.accounts("-X", "-j", some, "-o", "JobID,State,ElapsedRaw,AllocTRES")
        return [line.split("|") for line in said.splitlines()]

    def have_ended() -> bool:
        states = {state.split()[0] for _, state, *_ in told()}
        return len(told()) == sum(RUNS.values()) and states.isdisjoint({"RUNNING", "PENDING"})

    wait_for(have_ended, "the end of all runs")
    monkeypatch.setenv("PATH", cluster.environment["PATH"])  # for sacct
    output = jobs.run(Namespace(logs=tmp_path / JOB_LOGS, results=str(tmp_path / "results")))
    *totals, of_all = output.numbers["totals"]
    spent = {row["name"]: (row["runs"], row["gpu_s"]) for row in totals}
    for model, number in ids.items():
        seconds = [int(n) * gpus_of(given) for job, _, n, given in told() if job == number]
        assert spent[model] == (RUNS[model], sum(seconds)), told()
    assert of_all["gpu_s"] == sum(gpu_s for _, gpu_s in spent.values()) > 0
    assert of_all["lost_gpu_s"] == of_all["gpu_s"]  # nothing was kept
