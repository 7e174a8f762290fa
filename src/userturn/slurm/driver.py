"""What stands between Snakemake's scheduler and the executors that run its jobs.

A job is not submitted while another one does the same work: a job that a killed run left in
SLURM's queue, or the owner of a lease. When that has ended, what it made is taken over, and only
what is missing is run. A job that SLURM refuses only for now waits, and does not fail.
"""

import os
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from userturn.config.job_resources import note_end
from userturn.errors import UserError
from userturn.slurm.mistakes import mistakes_of
from userturn.slurm.queue import QueuedJob, does_the_same, queue
from userturn.slurm.scheduler import PASSES, run
from userturn.sources.registry import asked_of
from userturn.storage.files import read_identity
from userturn.storage.hashing import fingerprint
from userturn.storage.leases import LeaseError, describe_owner, lease, rivals
from userturn.study.grid import Grid
from userturn.study.sweep_notes import finished_by_shard
from userturn.workflow.job_record import SWEEPS

LOOK = 5.0  # seconds between two looks at the queue, at least
STATE = re.compile(r"SLURM status is: '(\w+)'")
OF_A_USER = re.compile(r"\w*Max\w*SubmitJobs?\w*Limit")  # passes only if a job of the user ends
OUT_OF_MEMORY = re.compile(  # by SLURM's own word, not a GPU's
    r"^[\w.-]+: error: .*(oom[-_ ]kill|xceeded .*memory limit|Out Of Memory)", re.MULTILINE
)
STOPPED = re.compile(r"^error: (.*stopped by SIG.*)$", re.MULTILINE)
WARNED = "stopped by SIGUSR1"  # the early warning of a time limit


def lease_of(grid: Grid, rule: str, wildcards: Mapping[str, str]) -> tuple[Path, str] | None:
    """Return the folder and name of the lease that a job of a rule takes, if it takes one."""
    if rule in SWEEPS:
        return grid.leases_folder(wildcards["model"]), wildcards["shard"]
    return (
        (grid.leases_folder(f"training/{wildcards['model']}"), "1of1") if rule == "train" else None
    )


def is_done(grid: Grid, job: Any) -> bool:
    """Return whether the outputs of a job of Snakemake are there, as it is asked for them."""
    outputs = [str(path) for path in job.output]
    if not all(map(os.path.exists, outputs)):
        return False
    params = dict(job.params.items())
    pending: Any = params.get("pending")
    identity = params.get("identity") if pending is None else fingerprint(sorted(pending))
    return identity in map(read_identity, outputs) or (
        job.rule.name in SWEEPS and _is_swept(grid, set(pending), **dict(job.wildcards.items()))
    )


def _is_swept(grid: Grid, pending: set[str], model: str, shard: str) -> bool:
    """Return whether each pending table of a shard is noted as finished, or collected by now."""
    left = pending - finished_by_shard(grid, model).get(shard, set())
    collected = {
        of.identity
        for of in asked_of(grid, model, left)
        if read_identity(grid.at(of.path)) == of.identity
    }
    return left <= collected


def say(line: str) -> None:
    """Print a line below Snakemake's own."""
    print(line, file=sys.stderr, flush=True)


@dataclass(eq=False)
class Gate:
    """What every job of one executor passes."""

    executor: Any
    grid: Grid
    own: str | None  # the name of this run's jobs in SLURM's queue; None for another executor
    pause: float  # seconds between two looks at the queue
    in_doubt: frozenset[str]  # models that somebody swept when this run was planned
    ended: threading.Event = field(default_factory=threading.Event)
    followed: set[str] = field(default_factory=set)  # jobs of another run that this one waits for
    told: set[str] = field(default_factory=set)  # refusals that were already printed

    def __post_init__(self) -> None:
        """Stand before the executor."""
        executor = self.executor
        self._run_jobs, self._cancel = executor.run_jobs, executor.cancel
        self._report_error = executor.report_job_error
        executor.run_jobs, executor.cancel = self.run_jobs, self.cancel
        executor.report_job_error = self.report_error

    def run_jobs(self, jobs: Iterable[Any]) -> None:
        """Run those jobs that nobody else does, and have the others wait."""
        queued, free = self._queued(), []
        for job in jobs:
            busy = None if job.is_group() else self._worker_on(job, queued)
            if busy is None:
                free.append(job)
                continue
            if busy:
                number = re.match(r"SLURM job (\d+)", busy)
                cure = f"`scancel {number[1]}` ends it" if number else "end that to run it here"
                say(f"{_name(job)} waits for {busy}, which does the same: {cure}")
            threading.Thread(target=self._wait, args=(job,), daemon=True).start()
        if free:
            self._run_jobs(free)

    def cancel(self) -> None:
        """Cancel all jobs, those that another run left included."""
        self.ended.set()
        if self.followed:
            run(["scancel", *sorted(self.followed)])
        self._cancel()

    def _queued(self) -> list[QueuedJob] | None:
        """Return the jobs of other runs in this folder; None if SLURM does not answer."""
        if self.own is None:
            return []
        queued = queue(Path.cwd())
        return queued if queued is None else [job for job in queued if job.name != self.own]

    def _worker_on(self, job: Any, queued: list[QueuedJob] | None) -> str | None:
        """Return who does what a job would do, "" if that has to be looked at, or None."""
        rule, wildcards = job.rule.name, dict(job.wildcards.items())
        for other in queued or ():
            if does_the_same(other, rule, wildcards):
                self.followed.add(other.number)
                return f"SLURM job {other.number} ({other.state.lower()})"
        leased = lease_of(self.grid, rule, wildcards)
        if leased is not None:
            for owner in rivals(*leased).values():
                return describe_owner(owner)
        return "" if wildcards.get("model") in self.in_doubt and rule in SWEEPS else None

    def _wait(self, job: Any) -> None:
        """Wait until nobody else does the work of a job; run it if it is not done then."""
        while not self.ended.is_set():
            queued = self._queued()
            if queued is not None and not self._is_busy(job, queued):
                break
            self.ended.wait(self.pause)
        if self.ended.is_set():
            return
        if is_done(self.grid, job):
            say(f"{_name(job)}: another job has made it")
            self.executor.workflow.scheduler.finish_callback(job)
        else:
            self._run_jobs([job])

    def _is_busy(self, job: Any, queued: list[QueuedJob]) -> bool:
        """Return whether somebody else does the work of a job; give back what the dead hold."""
        rule, wildcards = job.rule.name, dict(job.wildcards.items())
        if any(does_the_same(other, rule, wildcards) for other in queued):
            return True
        if (leased := lease_of(self.grid, rule, wildcards)) is None:
            return False
        try:
            for name in rivals(*leased):
                with lease(leased[0], name, lambda _: None, minds_rivals=False):
                    pass
        except (LeaseError, OSError):
            return True
        return False

    def report_error(self, info: Any, msg: str | None = None, **more: Any) -> None:
        """Report that a job failed, unless SLURM takes it later; a routine end is one line."""
        job, message = info.job, msg or ""
        if info.external_jobid is None and (refusal := self._passing(message)):
            line = f"{_name(job)} waits until SLURM takes it (sbatch says '{refusal}')"
            if line not in self.told:
                self.told.add(line)
                say(line)
            threading.Thread(target=self._try_again, args=(job,), daemon=True).start()
            return
        state = STATE.search(message)
        why = _end(state[1] if state else "", info)
        if why and not job.is_group():
            for log in job.log:  # both sweeps of a model have the resources of the first
                note_end(str(log).replace("logs/sweep_after_others/", "logs/sweep/"), why)
            left = job.restart_times + 1 - job.attempt
            cure = f"it is tried again with more {why}, and goes on where it stopped"
            cure = cure if left > 0 else "no attempt is left: run the same command again"
            end = "reached its time limit" if why == "time" else "ran out of memory"
            last_words = f" ({line})" if (line := _stopped(info.job)) else ""
            say(f"{_name(job)}: SLURM job {info.external_jobid} {end}{last_words}; {cure}")
            self.executor.workflow.scheduler.error_callback(job)
            return
        self._report_error(info, msg, **more)

    def _passing(self, message: str) -> str | None:
        """Return why sbatch refused a job for now; None if it would refuse it for ever."""
        match = PASSES.search(message)
        if match is None:
            return None
        if OF_A_USER.search(match[0]) and not _any_job():
            return None  # the limit is 0
        return match[0]

    def _try_again(self, job: Any) -> None:
        if not self.ended.wait(self.pause):
            self.executor.run_job(job)


def _any_job() -> bool:
    """Return whether this user has any job in the queue; also if nobody answers."""
    done = run(["squeue", "--noheader", "--format=%i", f"--user={os.getuid()}"])
    return bool(done.returncode or done.stdout.strip())


def _name(job: Any) -> str:
    return " ".join([job.rule.name, *dict(job.wildcards.items()).values()])


def _end(state: str, info: Any) -> str:
    """Return why a job ended, if that is no fault: "time", "memory" or ""."""
    if state == "TIMEOUT" or WARNED in _stopped(info.job):
        return "time"
    log, text = (info.aux or {}).get("slurm_logfile"), ""
    with suppress(OSError):
        text = Path(log).read_text("utf-8", "replace") if log else ""
    return "memory" if state == "OUT_OF_MEMORY" or OUT_OF_MEMORY.search(text) else ""


def _stopped(job: Any) -> str:
    """Return the last line in a job's logs about a signal that stopped it, or an empty text."""
    lines: list[str] = []
    for log in job.log:
        with suppress(OSError):
            lines += STOPPED.findall(Path(log).read_text("utf-8", "replace"))
    return lines[-1] if lines else ""


OF_SCHEDULER = ("_executor", "_local_executor", "finish_callback", "error_callback")
OF_EXECUTOR = ("run_jobs", "run_job", "cancel", "report_job_error")
OF_SLURM = ("run_uuid",)
WRITTEN_FOR = "9.27"  # of Snakemake: none of these names is promised


def _executors(workflow: Any) -> list[Any]:
    """Return the executors of a run."""
    scheduler = workflow.scheduler
    lacks = [f"scheduler.{name}" for name in OF_SCHEDULER if not hasattr(scheduler, name)]
    executors = [getattr(scheduler, name, None) for name in OF_SCHEDULER[:2]]
    for executor in filter(None, executors):
        own = OF_SLURM if "plugin_slurm" in type(executor).__module__ else ()
        lacks += [
            f"executor.{name}" for name in (*OF_EXECUTOR, *own) if not hasattr(executor, name)
        ]
    if lacks:
        raise UserError(
            f"Snakemake {version('snakemake')} has no {', '.join(lacks)}, by which two jobs that "
            f"do the same are kept apart; expected {WRITTEN_FOR}: install it with `make setup`"
        )
    return [executor for executor in executors if executor]


def stand_between(workflow: Any, grid: Grid, in_doubt: Iterable[str]) -> None:
    """Have every job of a run pass a gate before its executor.

    Raises:
        UserError: no job could be run as the settings are.
    """
    for executor in _executors(workflow):
        own = getattr(executor, "run_uuid", None)
        if own is not None:
            for mistake in mistakes_of(workflow):
                say(mistake)
        settings = getattr(workflow, "executor_settings", None) if own else None
        pause = getattr(settings, "init_seconds_before_status_checks", None) or LOOK
        Gate(executor, grid, own, max(float(pause), LOOK), frozenset(in_doubt))
