"""The jobs of a user that wait or run on a SLURM cluster, by squeue."""

import os
import re
import subprocess
from collections.abc import Mapping
from getpass import getuser
from pathlib import Path
from typing import NamedTuple

from userturn.storage.leases import overlap
from userturn.workflow.job_record import SWEEPS

FORMAT = "%i|%j|%T|%r|%N|%Z|%k"
SECONDS = 30.0  # in which squeue has to answer
SHARD = r"(?P<shard>\d+of\d+)"


class QueuedJob(NamedTuple):
    """A job in the queue. `what` is the comment of Snakemake's executor plugin."""

    number: str
    name: str  # that of all jobs of one run
    state: str
    reason: str
    nodes: str
    folder: str
    what: str


def read_queue(output: str) -> list[QueuedJob]:
    """Return the jobs in squeue's output, which has the format FORMAT."""
    lines = [line.split("|", len(QueuedJob._fields) - 1) for line in output.splitlines()]
    return [QueuedJob(*line) for line in lines if len(line) == len(QueuedJob._fields)]


def queue(folder: Path) -> list[QueuedJob] | None:
    """Return this user's queued jobs from a folder, or None if SLURM does not answer.

    Jobs that are ending are included.
    """
    command = ["squeue", "--noheader", f"--user={getuser()}", f"--format={FORMAT}"]
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    here = os.path.realpath(folder)
    return [job for job in read_queue(done.stdout) if os.path.realpath(job.folder) == here]


def comment_of(rule: str, wildcards: Mapping[str, str]) -> str:
    """Return the comment that the executor plugin (2.8.0) gives to a job."""
    values = "_".join(wildcards.values()).replace("/", "_")
    return f"rule_{rule}_wildcards_{values}" if values else f"rule_{rule}"


def does_the_same(job: QueuedJob, rule: str, wildcards: Mapping[str, str]) -> bool:
    """Return whether a queued job does the work that a job of a rule would do.

    Sweeps of one model do the same work if they share items.
    """
    if rule not in SWEEPS:
        return job.what == comment_of(rule, wildcards)
    model = re.escape(wildcards["model"])
    match = re.fullmatch(f"rule_({'|'.join(SWEEPS)})_wildcards_{model}_{SHARD}", job.what)
    return match is not None and overlap(match["shard"], wildcards["shard"])
