"""A study on a real SLURM cluster: each model loaded once, nothing lost, nothing done twice.

The nodes are virtual and their GPUs simulated: what is tested is scheduling, not computing.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import yaml

from tests.slurm.cluster import (
    N_REQUESTS,
    PATIENCE,
    Cluster,
    project,
    sweep_plan,
    sweeps,
    wait_for,
    write_study,
)
from tests.support.held_engine import ALLOWED, hold_engines
from tests.support.snakemake_runs import ROOT, copy_project, journal_lines, n_requests
from userturn.models.vllm import CPU_SETTINGS
from userturn.storage.leases import active_leases

pytestmark = pytest.mark.slurm

NEWCOMER = "results/sweeps/newcomer/1of1.json"


def log(folder: Path, model: str) -> str:
    """Return the log of a model's last sweep."""
    return (folder / "logs" / "sweep" / model / "1of1.log").read_text()


def test_demo_grid_is_swept_and_then_judged_by_one_job_each_with_the_gpus_of_its_line(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = copy_project(tmp_path / "demo")
    (folder / "slurm").symlink_to("profiles/slurm")
    study = yaml.safe_load((ROOT / "profiles" / "demo" / "study.yaml").read_text())
    # Scores take 12 GB for a moment, which SLURM, looking every two seconds, often does not see.
    study["models"]["smollm2-135m"] |= {"gpus": 2, "gpu_model": "h100", "mem_mb": 15000}
    study["engine"] = "transformers"  # vLLM does not divide nine heads by two
    study["controls"] |= {
        "planted": 1,
        "chance_floor": 0,
        "edited": 0,
        "labelled": False,
        "injected": False,
    }
    for dataset in study["datasets"].values():
        dataset["limit"] = 3
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    assert cluster.run(folder, "--until", "tabulate") == 0, (folder / "run.log").read_text()
    (job,) = cluster.jobs(folder)
    check_job(job, "rule_sweep_wildcards_smollm2-135m_1of1", n_gpus=2)
    said = log(folder, "smollm2-135m")
    assert said.count("loading the model") == 1  # one process, and one load for all cells
    assert re.search(rf"SLURM job {job['JobID']} of \w+ on gpu\d, GPUs 0,1$", said, re.MULTILINE)
    assert active_leases(folder / "results" / "leases" / "smollm2-135m") == {}
    assert (folder / "results" / "tables" / "rates.csv").is_file()

    add_served_judge(folder)
    driver = cluster.start_as_job(folder, "--until", "judge")
    assert cluster.ended_as(driver) == "COMPLETED", (folder / "run.log").read_text()
    job = cluster.jobs(folder)[1]
    check_job(job, "rule_serve_judge_wildcards_smollm2-135m", n_gpus=1)
    assert asked_and_loads(folder) == (3, 1)  # two cells, and the turns planted in their dataset
    decided = decisions(folder)
    assert len(decided) == len(set(decided)) > 6
    for lost in (folder / "results" / "cells").rglob("verdicts/smollm2-135m.parquet"):
        lost.unlink()
    assert cluster.run(folder, "--until", "judge") == 0, (folder / "run.log").read_text()
    assert decisions(folder) == decided  # found in the journal, without another job
    assert len(cluster.jobs(folder)) == 2
    assert len(list((folder / "results/cells").rglob("verdicts/smollm2-135m.parquet"))) == 2


def check_job(job: dict[str, str], comment: str, n_gpus: int) -> None:
    assert (job["Comment"], job["Partition"], job["State"]) == (comment, "gpu", "COMPLETED")
    assert {f"gres/gpu={n_gpus}", "node=1"} <= set(job["AllocTRES"].split(","))


def add_served_judge(folder: Path) -> None:
    """Put the demo's judge, which serves itself, before two of the demo's cells."""
    study = yaml.safe_load((folder / "study.yaml").read_text())
    judges = yaml.safe_load((ROOT / "profiles/demo/judge.yaml").read_text())["judges"]
    name = "smollm2-135m"
    line = judges[name]
    study["judges"] = {name: line}
    # One GPU for SLURM, which vLLM does not find.
    line |= {"gpus": 1, "mem_mb": 12000, "rationale_characters": 60}
    line["vllm"] |= CPU_SETTINGS
    study["run"] |= {"judges": ["heuristic", name], "datasets": ["word-problems"]}
    study["run"] |= {"temperatures": [0], "perturbations": ["none", "truncate"]}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))


def asked_and_loads(folder: Path) -> tuple[int, int]:
    """Return about how many cells the judge's last job asked, and how often it loaded its model."""
    marker = json.loads((folder / "results" / "judging" / "smollm2-135m.json").read_text())
    said = (folder / "logs" / "serve_judge" / "smollm2-135m.log").read_text()
    return marker["n_asked"], said.count("loading the model")


def decisions(folder: Path) -> list[str]:
    """Return the keys of all final replies of the judge, from its journal."""
    files = sorted((folder / "results/journal/judges/smollm2-135m").rglob("*.jsonl"))
    records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [record["key"] for record in records if record["outcome"] in ("ok", "unscored")]


def strike(cluster: Cluster, folder: Path, model: str) -> None:
    """Let the job that sweeps a model meet the fate that the model is named for."""
    job = cluster.running(folder, model)
    assert job is not None
    node = cluster.call("squeue", "-h", "-j", job, "-o", "%N").strip()
    if model == "cancelled":
        cluster.call("scancel", job)
    elif model == "late":
        cluster.call("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        cluster.call("scancel", "--signal=STOP", job)  # SLURM wakes it to tell it that time is up
    elif model == "warned":
        cluster.call("scancel", "--signal=USR1", job)
    elif model == "bereft":
        cluster.control("node-down", node)
        (folder / "dead_node").write_text(node)
    elif model == "preempted":
        urgent = ["-p", "urgent", "--gpus=2", "-N1", f"--nodelist={node}", "-t", "1"]
        cluster.call("sbatch", *urgent, "-o", "/dev/null", "--wrap", "true")


FATES = {  # how the first job of each model ends
    "cancelled": "CANCELLED",
    "late": "TIMEOUT",
    "warned": "FAILED",
    "bereft": "NODE_FAIL",
    "preempted": "PREEMPTED",
    "hungry": "FAILED",  # SLURM would call it OUT_OF_MEMORY if a cgroup had ended it
}


def test_sweeps_that_lose_their_job_in_any_way_are_finished_and_ask_nothing_twice(
    cluster: Cluster, tmp_path: Path
) -> None:
    # Two GPUs each, so that each has a node of its own.
    models: dict[str, dict[str, object]] = {name: {"gpus": 2} for name in FATES}
    models["hungry"]["mem_mb"] = 300  # a sweep of the tiny model takes 500
    models["warned"] |= {"gpus": 4, "nodes": 2}
    folder = project(tmp_path / "faults", models)
    markers = [f"results/sweeps/{model}/1of1.json" for model in models]
    (folder / ALLOWED).write_text("22\n")  # of a job's requests: none ends before its fate
    held_engine = hold_engines(tmp_path / "held", ROOT)
    driver = cluster.start(folder, *markers, "--retries", "4", **held_engine)
    spared = set(models) - {"hungry"}
    while spared:
        reached = lambda: [m for m in spared if len(journal_lines(folder, m)) >= 22]  # noqa: E731
        wait_for(reached, f"22 requests of one of {spared}")
        for model in reached():
            strike(cluster, folder, model)
            spared.remove(model)
    (folder / ALLOWED).unlink()
    write_study(folder, models | {"newcomer": {}})  # a model is added while the study runs
    assert driver.wait(timeout=PATIENCE) == 0, (folder / "run.log").read_text()
    cluster.control("node-up", (folder / "dead_node").read_text())
    for model, fate in FATES.items():
        assert n_requests(folder, model=model) == N_REQUESTS, model
        first, *_, last = sweeps(cluster, folder, model)
        assert (first["State"].split()[0], last["State"]) == (fate, "COMPLETED"), model
        requeued = model in ("bereft", "preempted")
        assert (first["JobID"] == last["JobID"]) == requeued, model
    for job in sweeps(cluster, folder, "warned"):
        assert {"gres/gpu=4", "node=2"} <= set(job["AllocTRES"].split(","))
    assert re.search(r" on gpu\d, GPUs 0,1$", log(folder, "warned"), re.MULTILINE)
    said = (folder / "run.log").read_text()  # a line each, and no error
    assert re.search(r"^sweep late 1of1: SLURM job \d+ reached .* by SIGTERM with", said, re.M)
    assert re.search(r"^sweep warned 1of1: SLURM job \d+ reached .* by SIGUSR1 with", said, re.M)
    assert re.search(r"^sweep hungry 1of1: SLURM job \d+ ran out of memory; it is", said, re.M)
    asked = [int(job["ReqMem"].removesuffix("M")) for job in sweeps(cluster, folder, "hungry")]
    assert asked == [300 + 150 * attempt for attempt in range(len(asked))]
    assert "Nothing to be done" in sweep_plan(folder, *markers)
    assert re.search(r"^sweep +1$", sweep_plan(folder, NEWCOMER), re.MULTILINE)


@pytest.mark.parametrize(
    ("how", "seconds", "code"),
    [("ends", 600, 0), ("fails", 600, 3), ("is killed", 600, 137), ("waits", 0, 1)],
)
def test_worker_on_another_node_and_the_first_node_s_process_end_together(
    cluster: Cluster, tmp_path: Path, how: str, seconds: int, code: int
) -> None:
    command = ["salloc", "-Q", "-p", "gpu", "-N2", "--gres=gpu:2", "srun", "-n1", "-N1"]
    command += [sys.executable, "-m", "tests.slurm.first_node", str(tmp_path), str(seconds), how]
    path = {"PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    done = subprocess.run(
        command, cwd=ROOT, env=cluster.environment | path, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    (note,) = tmp_path.iterdir()
    rank, worker = note.read_text().split()
    assert note.name != done.stdout.strip()
    assert rank == "0"  # the first of the others, which is rank 1 of all
    assert not psutil.pid_exists(int(worker))
