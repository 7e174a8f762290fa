"""A real SLURM cluster of virtual nodes with simulated GPUs, on this machine."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir, mkdtemp

import psutil
import yaml
from filelock import FileLock

from tests.support.snakemake_runs import SNAKEMAKE, copy_project, journal_lines
from tests.support.tiny_model import write_tiny_model

SLURM_UP = Path(__file__).with_name("slurm-up")
DRIVER = [sys.executable, "-P", str(Path(__file__).with_name("driver.py"))]
SETTINGS = {
    "SLURM_UP_GPU_NODES": "7",
    "SLURM_UP_CPU_NODES": "1",
    "SLURM_UP_CPUS": "8",  # what a sweep asks for
    "SLURM_UP_MEM_MB": "16000",
}
PATIENCE = 1800  # seconds that a cluster on a busy machine may take for anything
HASTE = ["--slurm-init-seconds-before-status-checks", "3", "--latency-wait", "10"]
N_REQUESTS = 100  # of a study of `write_study`: 20 answers, and 20 user turns in four cells
CORES = ["--set-threads", "sweep=2", "serve_judge=2"]  # this machine's; they ask for eight


def reason_to_skip() -> str | None:
    """Return why no cluster can be started here, if so."""
    if os.geteuid() != 0:
        return "starting SLURM's daemons needs root"
    if shutil.which("slurmctld") is None and shutil.which("apt-get") is None:
        return "SLURM is not installed, and only on Debian it is installed by the test"
    return None


def wait_for(what: Callable[[], object], reason: str, patience: float = PATIENCE) -> None:
    """Wait until something is true, and say what was waited for if it never is in so many s."""
    deadline = time.monotonic() + patience
    while not what():
        assert time.monotonic() < deadline, f"waited {patience} s in vain: {reason}"
        time.sleep(0.3)


@dataclass
class Cluster:
    """A running cluster: its folder, and the environment in which its commands are found."""

    folder: Path
    environment: dict[str, str]

    def call(self, *command: str) -> str:
        """Run one of SLURM's commands and return what it prints."""
        done = subprocess.run(
            command, env=self.environment, text=True, capture_output=True, check=True
        )
        return done.stdout

    def control(self, *arguments: str) -> None:
        """Have the cluster's script do something, such as node-down gpu1."""
        command, *rest = arguments
        subprocess.run([SLURM_UP, command, self.folder, *rest], check=True, env=self.environment)

    def accounts(self, *options: str) -> str:
        """Return what sacct says of all runs of all jobs, also those from before midnight."""
        return self.call("sacct", "-D", "-n", "-P", "-S", "now-7days", *options)

    def jobs(self, folder: Path) -> list[dict[str, str]]:
        """Return the accounting of all jobs of a project's rules by start, each of their runs."""
        fields = [
            "Start",
            "JobID",
            "Partition",
            "AllocTRES",
            "ElapsedRaw",
            "ReqMem",
            "State",
            "Comment",
            "WorkDir",
        ]
        said = self.accounts("-X", "-o", ",".join(fields))
        rows = [
            dict(zip(fields, line.split("|"), strict=True)) for line in sorted(said.splitlines())
        ]
        return [row for row in rows if row["WorkDir"] == str(folder) and row["Comment"]]

    def running(self, folder: Path, model: str) -> str | None:
        """Return the id of the job that sweeps a model now, from the queue."""
        said = self.call("squeue", "-h", "-t", "R", "-o", "%i|%k|%Z")
        rows = [line.split("|") for line in said.splitlines()]
        comment = f"rule_sweep_wildcards_{model}_1of1"
        return next((job for job, what, at in rows if (what, at) == (comment, str(folder))), None)

    def start(self, folder: Path, *arguments: str, **extra: str) -> subprocess.Popen[str]:
        """Start `snakemake --profile slurm` in a project, with all output in run.log.

        `extra` is added to the environment.
        """
        command = [*DRIVER, *arguments, "--profile", "slurm", *HASTE, *CORES]
        with (folder / "run.log").open("a") as log:
            return subprocess.Popen(
                [*command, "--configfile", "study.yaml"],
                cwd=folder,
                env=self.environment | extra,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    def start_as_job(self, folder: Path, *arguments: str, **extra: str) -> str:
        """Start the study by a driver that is a job itself, and return its number."""
        command = [*DRIVER, *arguments, "--profile", "slurm", *HASTE, *CORES]
        # In place of the shell: this cluster loses sight of what outlives a parent.
        wrapped = "exec " + shlex.join([*command, "--configfile", "study.yaml"])
        job = ["sbatch", "--parsable", "-p", "cpu", "-c", "8", "--mem=8000", "-o", "run.log"]
        job += [
            "--time=1-00:00:00",
            "--open-mode=append",
            "--chdir",
            str(folder),
            "--wrap",
            wrapped,
        ]
        environment = self.environment | extra
        return subprocess.check_output(job, env=environment, cwd=folder, text=True).strip()

    def ended_as(self, job: str) -> str:
        """Wait until a job has ended, perhaps in a second run, and return its state."""
        queued = ("squeue", "-h", "-j", job, "-t", "PD,R,CG,S,RQ", "-o", "%T")
        wait_for(lambda: not self.call(*queued).strip(), f"the end of job {job}")
        told = re.search(r"JobState=(\w+)", self.call("scontrol", "show", "job", job))
        return told[1] if told else "unknown"

    def run(self, folder: Path, *arguments: str, **extra: str) -> int:
        """Run the study in a project to its end and return the exit code."""
        return self.start(folder, *arguments, **extra).wait(timeout=PATIENCE)


def _free_ports() -> int:
    """Return the first of twenty ports on 127.0.0.1 that nobody listens on."""
    for base in range(16800, 26800, 20):
        with ExitStack() as sockets:
            try:
                for port in range(base, base + 20):
                    sockets.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return base
    raise AssertionError("no twenty free ports in a row")


def processes_of(folder: Path) -> list[psutil.Process]:
    """Return the drivers, and all that jobs started, by the cluster's commands in their PATH."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if f"{folder}/bin" in process.environ().get("PATH", "").split(":"):
                found.append(process)
    return found


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Start a cluster, and end exactly its daemons afterwards."""
    folder = Path(mkdtemp(prefix="slurm-", dir="/tmp"))  # short: sockets have short names only
    with FileLock(f"{gettempdir()}/slurm-up.lock"):  # of ports, and of apt
        environment = os.environ | SETTINGS | {"SLURM_UP_PORT": str(_free_ports())}
        subprocess.run([SLURM_UP, "start", folder], check=True, env=environment)
    path = f"{folder}/bin:{SNAKEMAKE.parent}:{environment['PATH']}"
    try:
        yield Cluster(
            folder, environment | {"SLURM_CONF": f"{folder}/etc/slurm.conf", "PATH": path}
        )
    finally:
        subprocess.run([SLURM_UP, "stop", folder], check=True, env=environment)
        for process in processes_of(folder):  # a node that dies leaves the processes of its jobs
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(processes_of(folder), timeout=20)
        assert not processes_of(folder), f"left behind: {processes_of(folder)}"
        shutil.rmtree(folder, ignore_errors=True)


def write_study(folder: Path, models: dict[str, dict[str, object]], **changes: object) -> None:
    """Write a study of tiny models: 20 items, each answered, with four user turns after it."""
    study = yaml.safe_load((folder / "study.yaml").read_text())
    line = {"source": "./models/tiny", "gpus": 1, "mem_mb": 2000, "runtime": 10}
    line |= {"dtype": "float32", "max_model_len": 1024}
    study["models"] = {name: line | own for name, own in models.items()}
    study["run"]["models"] = list(models)
    study["datasets"]["word-problems"]["limit"] = 20
    study |= {"answer": {"max_tokens": 12}, "user_turn": {"max_tokens": 120}} | changes
    (folder / "study.yaml").write_text(yaml.safe_dump(study))


def project(folder: Path, models: dict[str, dict[str, object]]) -> Path:
    """Make a project without results whose models are all the same tiny one."""
    copy_project(folder)
    write_tiny_model(folder / "models" / "tiny")
    (folder / "slurm").symlink_to("profiles/slurm")
    write_study(folder, models)
    return folder


def wait_for_lines(folder: Path, model: str, n: int) -> None:
    """Wait until a model's journal has so many requests."""
    wait_for(lambda: len(journal_lines(folder, model)) >= n, f"{n} requests of {model}")


def errors(folder: Path) -> set[str]:
    """Return the errors that a study's runs printed."""
    lines = (folder / "run.log").read_text().splitlines()
    return {line for line in lines if line.startswith("error: ")}


def sweeps(cluster: Cluster, folder: Path, model: str) -> list[dict[str, str]]:
    """Return the accounting of the jobs that swept a model, by start."""
    comment = f"rule_sweep_wildcards_{model}_1of1"
    return [job for job in cluster.jobs(folder) if job["Comment"] == comment]


def sweep_plan(folder: Path, *targets: str) -> str:
    """Return what a dry run would do for some targets."""
    command = [SNAKEMAKE, *targets, "-n", "--configfile", "study.yaml"]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True).stdout
