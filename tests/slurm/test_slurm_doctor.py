"""On a real cluster the doctor names what it would refuse, and a run ends before its first job.

What SLURM's commands print is recorded in `test_mistakes.py`, for more mistakes.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.slurm.cluster import Cluster, errors, project, write_study
from tests.support.snakemake_runs import SNAKEMAKE

pytestmark = pytest.mark.slurm

WIDE = {"COLUMNS": "1000"}  # no sentence is wrapped
UNKNOWN_PARTITION = (
    "correct 'gpuu' as slurm_partition in the profile or partition in the entry: no "
    "partition is called so, did you mean 'gpu'?"
)
OF_ENTRIES = {  # a model each, with what is wrong and what the doctor says of it
    "slow": ({"runtime": 20}, "--time=20 is beyond 5, the limit of gpu"),
    "patient": ({"runtime": 2}, "job of model patient, attempt 3 "),
    "mistyped": (
        {"gpu_model": "h10"},
        "correct gpu_model: no node of partition gpu has a GPU of type 'h10', did you mean 'h100'?",
    ),
    "constrained": (
        {"constraint": "h10"},
        "correct constraint: no node of partition gpu has 'h10', did you mean 'h100'?",
    ),
    "large": (
        {"mem_mb": 16001, "max_mem_mb": 16001},
        "no node of partition gpu has 16001 MB of memory, the most is 16000; lower mem_mb",
    ),
}
OF_PROFILES = [
    (
        {"slurm_partition": "gpu", "slurm_account": "lap", "qos": "norml"},
        "lap is not one of yours, so every submission would be refused: correct "
        "slurm_account in the profile, did you mean 'lab'?",
        "correct qos: the cluster has no 'norml', did you mean 'normal'?",
    ),
    (
        {},
        "FAIL preempted jobs are run again: PreemptMode is CANCEL in cpu,",
        "no node of partition cpu has a GPU; name one that has some as slurm_partition "
        "in the profile or partition in the entry: gpu, urgent",
    ),
]


def doctor(cluster: Cluster, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Let the doctor look at a project."""
    command = [SNAKEMAKE.with_name("userturn"), "doctor", "--configfile", "study.yaml"]
    everything = cluster.environment | WIDE | environment
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, env=everything)


@contextmanager
def changed(cluster: Cluster, partition: str, **settings: tuple[str, str]) -> Iterator[None]:
    """Spoil a partition by settings, each as it is to be and as it was."""

    def update(which: int) -> None:
        words = [f"{key}={values[which]}" for key, values in settings.items()]
        cluster.call("scontrol", "update", f"PartitionName={partition}", *words)

    update(0)
    try:
        yield
    finally:
        update(1)


def profiled(
    folder: Path, models: dict[str, dict[str, object]], resources: Mapping[str, str]
) -> Path:
    """Make a project of models whose profile sets default resources."""
    project(folder, models)
    profile = yaml.safe_load((folder / "slurm/config.yaml").read_text())
    (folder / "slurm").unlink()
    (folder / "slurm").mkdir()
    text = yaml.safe_dump(profile | {"default-resources": dict(resources)})
    (folder / "slurm/config.yaml").write_text(text)
    return folder


def test_of_a_healthy_cluster_only_what_is_asked_too_much_is_told(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = project(tmp_path / "sick", {"greedy": {"gpus": 9}, "modest": {}})
    done = doctor(cluster, folder)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"\d+ checks passed, 1 would fail", lines[-1])
    assert "ok   preempted jobs are run again" in lines
    assert "ok   ended jobs stay in the queue until they are seen" in lines
    (refused,) = [line for line in lines if line.startswith("FAIL")]
    assert "job of model greedy" in refused
    assert "no node of partition gpu has 9 GPUs, the most is 2; lower gpus" in refused
    assert lines[-2].startswith("ok   job of model modest")


def test_what_is_wrong_with_a_partition_and_with_each_entry_is_told(
    cluster: Cluster, tmp_path: Path
) -> None:
    models = {name: {"runtime": 1} | wrong for name, (wrong, _) in OF_ENTRIES.items()}
    folder = profiled(tmp_path / "sick", models, {"slurm_partition": "gpu"})
    spoiled = {"PreemptMode": ("CANCEL", "REQUEUE"), "MaxTime": ("5", "UNLIMITED")}
    with changed(cluster, "gpu", **spoiled):
        lines = doctor(cluster, folder).stdout.splitlines()
    failed = [line for line in lines if line.startswith("FAIL")]
    assert "FAIL preempted jobs are run again: PreemptMode is CANCEL in gpu," in failed[0]
    assert len(failed) == 1 + len(OF_ENTRIES)
    for name, (_, expected) in OF_ENTRIES.items():
        (line,) = [line for line in failed if f"job of model {name}" in line]
        assert expected in line


@pytest.mark.parametrize(("resources", "first", "second"), OF_PROFILES)
def test_what_is_wrong_with_a_profile_is_told(
    cluster: Cluster, tmp_path: Path, resources: dict[str, str], first: str, second: str
) -> None:
    folder = profiled(tmp_path / "sick", {"modest": {"runtime": 2}}, resources)
    with changed(cluster, "cpu", PreemptMode=("CANCEL", "REQUEUE")):
        told = doctor(cluster, folder).stdout
    assert first in told and second in told


def test_run_that_slurm_would_refuse_ends_before_its_first_job(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = profiled(tmp_path / "sick", {"modest": {"runtime": 2}}, {"slurm_partition": "gpuu"})
    assert cluster.run(folder, "results/sweeps/modest/1of1.json") == 1
    (error,) = errors(folder)
    assert UNKNOWN_PARTITION in error
    assert cluster.jobs(folder) == []


def test_doctor_sees_a_node_through_a_job_of_its_own(cluster: Cluster, tmp_path: Path) -> None:
    folder = project(tmp_path / "node", {"tiny": {}, "lost": {}})
    write_study(folder, {"tiny": {}, "lost": {"source": "nobody/never-fetched"}})
    done = doctor(cluster, folder, HF_HOME=str(tmp_path))
    bad = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert [re.sub(r"gpu\d", "NODE", line).split(":")[0] for line in bad] == [
        "FAIL NODE computes on the 1 GPU it was given",  # simulated
        "FAIL NODE has model lost",
        "FAIL NODE has dataset word-problems",  # not prepared yet
    ]
    assert re.search(r"^ok   gpu\d has model tiny$", done.stdout, re.MULTILINE)
    shutil.rmtree(folder)
