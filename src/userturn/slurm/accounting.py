"""The resources that a study's jobs on SLURM used: every run of every job, as sacct has it.

The numbers of a study's jobs are taken from the names of the logs that SLURM writes for them, so
no job needs a comment. A job that SLURM ran again, after a preemption or a lost node, has several
runs.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from userturn.errors import UserError
from userturn.slurm.scheduler import reason, run

JOB_LOGS = Path("logs", "slurm")  # `slurm-logdir` of the profile
ACCOUNTED = ("JobIDRaw", "State", "Submit", "Eligible", "Start", "End", "ElapsedRaw", "AllocTRES")
ASKED_AT_ONCE = 500  # jobs that sacct is asked about in one call
RESULT_PATTERNS = {  # folders of a rule's results, by the model or judge of its job
    "sweep": "results/journal/{name}",
    "sweep_after_others": "results/journal/{name}",
    "train": "results/checkpoints/{name}",
    "serve_judge": "results/journal/judges/{name}",
}


class Run(NamedTuple):
    """One run of one job, with None for times that it has not reached."""

    rule: str
    name: str  # of the job's model or judge
    job: str  # its number
    state: str  # as sacct has it, such as COMPLETED
    submitted: datetime | None
    began: datetime | None
    ended: datetime | None
    seconds: int  # that it ran
    n_gpus: int

    @property
    def waited(self) -> int | None:
        """The seconds in the queue before this run, None if it has not begun."""
        if self.began is None or self.submitted is None:
            return None
        return int((self.began - self.submitted).total_seconds())

    @property
    def gpu_seconds(self) -> int:
        """The seconds times GPUs that the run used."""
        return self.seconds * self.n_gpus


def jobs_of(logs: Path = JOB_LOGS) -> dict[str, tuple[str, str]]:
    """Return (rule, wildcards) of each job with a log, by the job's number."""
    jobs = {}
    for path in sorted(logs.glob("rule_*/*/*.log")):
        if path.stem.isdigit():
            jobs[path.stem] = (path.parts[-3].removeprefix("rule_"), path.parts[-2])
    return jobs


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)  # local time, as files have it
    except ValueError:  # Unknown, None
        return None


def read_runs(output: str, jobs: Mapping[str, tuple[str, str]]) -> list[Run]:
    """Return the runs of some jobs from sacct's output with the fields ACCOUNTED, by start."""
    runs = []
    for line in output.splitlines():
        values = dict(zip(ACCOUNTED, line.split("|"), strict=False))
        if values.get("JobIDRaw") not in jobs or len(values) < len(ACCOUNTED):
            continue
        rule, wildcards = jobs[values["JobIDRaw"]]
        gpus = re.search(r"gres/gpu=(\d+)", values["AllocTRES"])
        runs.append(
            Run(
                rule,
                re.sub(r"_\d+of\d+$", "", wildcards),
                values["JobIDRaw"],
                values["State"].split()[0],
                _moment(values["Submit"]),
                _moment(values["Start"]),
                _moment(values["End"]),
                int(values["ElapsedRaw"] or 0),
                int(gpus[1]) if gpus else 0,
            )
        )
    return sorted(runs, key=lambda one: (one.began or datetime.max, int(one.job)))


def runs_of(logs: Path = JOB_LOGS) -> list[Run]:
    """Return every run of the jobs with a log in this folder, or raise UserError."""
    jobs = jobs_of(logs)
    numbers, runs = sorted(jobs, key=int), list[Run]()
    for first in range(0, len(numbers), ASKED_AT_ONCE):
        some = ",".join(numbers[first : first + ASKED_AT_ONCE])
        command = ["sacct", "-D", "-X", "-n", "-P", "-S", "2000-01-01", "-j", some]
        done = run([*command, f"--format={','.join(ACCOUNTED)}"])
        if done.returncode:
            raise UserError(
                f"sacct says '{reason(done.stderr)}'; run this where SLURM's accounting answers"
            )
        runs += read_runs(done.stdout, jobs)
    return runs


def useful_seconds(one: Run, written: Iterable[float]) -> int:
    """Return the seconds of a run until it last wrote a result, or all if it completed after one.

    `written` are the times at which results of its model were written, in seconds since 1970.
    """
    if one.began is None:
        return 0
    begin = one.began.timestamp()
    inside = [moment - begin for moment in written if begin <= moment <= begin + one.seconds + 1]
    if inside and one.state == "COMPLETED":
        return one.seconds
    return min(one.seconds, round(max(inside, default=0)))


def result_times(root: Path, one: Run) -> list[float]:
    """Return the times at which the results of a run's rule were written, in seconds since 1970."""
    pattern = RESULT_PATTERNS.get(one.rule)
    paths = (root / pattern.format(name=one.name)).rglob("*") if pattern else ()
    return [path.stat().st_mtime for path in paths if path.is_file()]
