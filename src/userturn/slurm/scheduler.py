"""Checks whether SLURM's scheduler would accept and start the jobs of a study."""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from getpass import getuser
from typing import NamedTuple, cast

from userturn.config.endpoint_models import has_endpoint
from userturn.config.job_resources import SETTINGS
from userturn.config.model_keys import ModelEntry
from userturn.config.trained_models import training_entry
from userturn.errors import UserError, near_miss
from userturn.slurm.nodes import FORMAT, Kind, lacking, read_kinds
from userturn.slurm.submission import (
    RULES,
    Options,
    Profile,
    as_words,
    job_options,
    n_attempts,
    partitions_of,
)
from userturn.study.grid import Grid

OWNERS = {"--account": "Accounts", "--qos": "Qos"}  # by sbatch's option, scontrol's name
JOB = "job of "  # how the check of a job begins
# What sbatch says when it would take the same job later.
PASSES = re.compile(
    r"\w*SubmitJobs?\w*Limit|temporarily unable to accept|Unable to contact slurm controller|"
    r"Socket timed out|Resource temporarily unavailable|Zero Bytes were transmitted|"
    r"Transport endpoint|Connection (refused|timed out)|Communication connection failure"
)
NONE = ("UNLIMITED", "INFINITE", "NONE", "")


class NoSchedulerError(UserError):
    """The controller of the cluster does not answer."""


class Partition(NamedTuple):
    """A partition's limits of a job, with None for no limit."""

    name: str
    is_default: bool  # whether jobs that name no partition go there
    is_up: bool  # whether jobs start there
    preempt_mode: str  # what happens to a preempted job
    minutes: int | None
    mem_mb: int | None  # on one node
    nodes: int | None
    least_nodes: int | None
    allowed: Mapping[str, list[str]]  # the only accounts and QOS that start there, by option
    denied: Mapping[str, list[str]]  # those that never start there


def minutes(text: str) -> int | None:
    """Return a time of SLURM in whole minutes, rounded down, or None for no limit.

    The forms are minutes, minutes:seconds, hours:minutes:seconds, and days-hours with or without
    minutes and seconds.
    """
    if text in NONE:
        return None
    days, dash, rest = text.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash:
        hours, minute = [*parts, 0][:2]
    elif len(parts) == 3:
        hours, minute = parts[:2]
    else:
        hours, minute = 0, parts[0]
    return (int(days or 0) * 24 + hours) * 60 + minute


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _listed(of: Mapping[str, str], verb: str) -> dict[str, list[str]]:
    """Return the accounts and QOS that a partition allows or denies, if it lists any."""
    named = {option: of.get(verb + key, "") for option, key in OWNERS.items()}
    return {
        option: names.lower().split(",")
        for option, names in named.items()
        if names not in ("", "ALL", "(null)")
    }


def read_partitions(output: str) -> dict[str, Partition]:
    """Return the partitions in the output of `scontrol show partition --oneliner`, by name."""
    partitions = {}
    for line in output.splitlines():
        of = dict(re.findall(r"(\w+)=(\S*)", line))
        if "PartitionName" in of:
            partitions[of["PartitionName"]] = Partition(
                of["PartitionName"],
                of.get("Default") == "YES",
                of.get("State", "UP") == "UP",
                of.get("PreemptMode", ""),
                minutes(of.get("MaxTime", "")),
                _number(of.get("MaxMemPerNode", "")),
                _number(of.get("MaxNodes", "")),
                _number(of.get("MinNodes", "")),
                _listed(of, "Allow"),
                _listed(of, "Deny"),
            )
    return partitions


def never_starts(partition: Partition, options: Mapping[str, str]) -> str | None:
    """Return why a job with these sbatch options would wait in a partition forever, or None."""
    if not partition.is_up:
        return f"partition {partition.name} is not up"
    time = options.get("--time", "")
    wishes = (
        ("--time", minutes(time) if re.match(r"[\d:-]+$", time) else None, partition.minutes),
        ("--mem", _number(options.get("--mem", "")), partition.mem_mb),
        ("--nodes", _number(options.get("--nodes", "")), partition.nodes),
    )
    for name, wish, limit in wishes:
        if wish is not None and limit is not None and wish > limit:
            return f"{name}={options[name]} is beyond {limit}, the limit of {partition.name}"
    if int(options.get("--nodes", 1)) < (partition.least_nodes or 0):
        return f"jobs of {partition.name} have at least {partition.least_nodes} nodes"
    for option in OWNERS:
        owner = options.get(option, "").lower()
        allowed = partition.allowed.get(option, [owner])
        if owner and (owner not in allowed or owner in partition.denied.get(option, [])):
            return f"{partition.name} starts no jobs with {option}={owner}"
    return None


class CheckResult(NamedTuple):
    """The result of a check, whose `trouble` is the fault and its fix, or None."""

    what: str
    trouble: str | None = None


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command and return its exit code (127 if it does not exist) and output."""
    try:
        return subprocess.run(command, text=True, capture_output=True, check=False)
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))


def reason(output: str) -> str:
    """Return the first error in the output of a SLURM command."""
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line or "failure" in line] or lines
    return errors[0].strip() if errors else "nothing"


def entries_of_jobs(grid: Grid) -> dict[str, ModelEntry]:
    """Return the entries with a job of their own: models, trainings and served judges.

    A model with an endpoint has no job.
    """
    defaults = grid.config["model_defaults"]
    entries = {f"model {name}": e for name, e in grid.models.items() if not has_endpoint(e)}
    entries |= {f"training of {name}": training_entry(grid.entries[name]) for name in grid.trained}
    for name, judge in grid.judges.items():
        if judge.get("serve"):
            served = {**defaults, **judge, "source": judge["model"]}
            entries[f"judge {name}"] = cast("ModelEntry", served)
    return entries


class Attempt(NamedTuple):
    """One attempt at the job of an entry such as `model x`, with its sbatch options."""

    job: str
    number: int
    options: Options


def attempts_of(grid: Grid, profile: Profile) -> list[Attempt]:
    """Return every attempt at every job that loads a model."""
    return [
        Attempt(
            name,
            number,
            job_options(profile, RULES[name.split()[0]], entry, number, name.split()[-1]),
        )
        for name, entry in entries_of_jobs(grid).items()
        for number in range(1, n_attempts(profile) + 1)
    ]


def look_at_requests(
    attempts: Sequence[Attempt], partitions: Mapping[str, Partition], kinds: Sequence[Kind]
) -> Iterator[CheckResult]:
    """Check whether the scheduler would accept and start each job, testing equal options once.

    Of several attempts at a job, only the first and the first that would fail are named.
    """
    alike: dict[tuple[str, ...], list[Attempt]] = {}
    for attempt in attempts:
        alike.setdefault(tuple(as_words(attempt.options)), []).append(attempt)
    failed: set[str] = set()
    for words, same in alike.items():
        options = same[0].options
        here = [partition.name for partition in jobs_partitions(options, partitions)]
        trouble = _unknown_partition(options, partitions)
        trouble = trouble or next(lacking(options, here, kinds), None)
        trouble = trouble or refusal(words) or _endless_wait(options, partitions)
        named = [a for a in same if a.number == 1 or (trouble and a.job not in failed)]
        failed |= {attempt.job for attempt in same} if trouble else set()
        if named:
            names = [a.job + (f", attempt {a.number}" if a.number > 1 else "") for a in named]
            yield CheckResult(f"{JOB}{', '.join(names)} ({' '.join(words)})", trouble)


def _unknown_partition(options: Options, partitions: Mapping[str, Partition]) -> str | None:
    """Return which of a job's partitions the cluster does not have, or that it names none."""
    cure = "as slurm_partition in the profile or partition in the entry"
    for name in partitions_of(options):
        if name not in partitions:
            near = near_miss(name, partitions)
            return f"correct '{name}' {cure}: no partition is called so{near}"
    if partitions_of(options) or any(partition.is_default for partition in partitions.values()):
        return None
    return f"the cluster has no default partition; name one {cure}: {', '.join(sorted(partitions))}"


def refusal(words: Sequence[str]) -> str | None:
    """Return why sbatch would refuse a job with some options, or None."""
    done = run(["sbatch", "--test-only", *words, "--wrap", "true"])
    if done.returncode == 0:
        return None
    return (
        f"sbatch says '{reason(done.stderr)}'; correct account and partition in the "
        f"profile, or {', '.join(SETTINGS)} in the model's entry "
        "(cores: `set-threads` in the profile)"
    )


def _endless_wait(options: Options, partitions: Mapping[str, Partition]) -> str | None:
    here = jobs_partitions(options, partitions)
    reasons = [never_starts(partition, options) for partition in here]
    if not reasons or None in reasons:
        return None
    return (
        f"the job would wait for ever: {'; '.join(filter(None, reasons))}; set runtime, "
        "max_runtime, mem_mb, max_mem_mb or nodes in the model's entry, or another partition, "
        "account or QOS in the profile"
    )


def jobs_partitions(options: Options, partitions: Mapping[str, Partition]) -> list[Partition]:
    """Return the partitions of the cluster in which a job may start."""
    named = partitions_of(options)
    return [p for p in partitions.values() if (p.name in named if named else p.is_default)]


def look_at_preemption(
    attempts: Sequence[Attempt], partitions: Mapping[str, Partition]
) -> CheckResult:
    """Check whether the jobs' partitions requeue preempted jobs instead of cancelling them.

    Snakemake's executor plugin (2.8.0) counts a cancelled job as neither finished nor failed, and
    waits for it forever.
    """
    what = "preempted jobs are run again"
    used = {p.name: p for a in attempts for p in jobs_partitions(a.options, partitions)}
    ended = [name for name, partition in used.items() if partition.preempt_mode == "CANCEL"]
    if not ended:
        return CheckResult(what)
    return CheckResult(
        what,
        f"PreemptMode is CANCEL in {', '.join(ended)}, and Snakemake would wait for such a job for "
        "ever; give another slurm_partition in the profile, or a QOS that is not preempted, or "
        "stop Snakemake with Ctrl-C then and run the same command again",
    )


def look_at_accounts(attempts: Sequence[Attempt]) -> CheckResult | None:
    """Check whether the user has the accounts that the profile names, if it names any."""
    accounts = {
        name for a in attempts for name in a.options.get("--account", "").split(",") if name
    }
    if not accounts:
        return None
    what = f"account {', '.join(sorted(accounts))}"
    done = run(["sacctmgr", "-n", "-s", "-P", "list", "user", getuser(), "format=account"])
    usable = {line.strip().lower() for line in done.stdout.splitlines() if line.strip()}
    wrong = sorted(name for name in accounts if name.lower() not in usable)
    if done.returncode or not usable or not wrong:
        return CheckResult(what)
    return CheckResult(
        what,
        f"{', '.join(wrong)} is not one of yours, so every submission would be refused: correct "
        f"slurm_account in the profile{near_miss(wrong[0].lower(), usable)}",
    )


def look_at_job_age(profile: Profile) -> CheckResult | None:
    """Check whether ended jobs stay in the queue until Snakemake looks, or return None in doubt.

    If they stay for less than three of its intervals, the executor plugin (2.8.0) asks sacct and
    not squeue, and waits forever for a cancelled job.
    """
    age = re.search(r"^MinJobAge\s*=\s*(\d+)", run(["scontrol", "show", "config"]).stdout, re.M)
    if age is None:
        return None
    needed = 3 * int(profile.get("slurm-init-seconds-before-status-checks") or 40)
    what = "ended jobs stay in the queue until they are seen"
    if int(age[1]) >= needed:
        return CheckResult(what)
    return CheckResult(
        what,
        f"MinJobAge is {age[1]} s, expected {needed} or more: Snakemake would never notice a "
        "cancelled job; ask your administrator for more, or set "
        f"slurm-init-seconds-before-status-checks to {int(age[1]) // 3} in the profile",
    )


def partitions() -> dict[str, Partition]:
    """Return the cluster's partitions by name, or raise NoSchedulerError."""
    done = run(["scontrol", "show", "partition", "--oneliner"])
    if done.returncode:
        raise NoSchedulerError(
            f"scontrol says '{reason(done.stderr)}'; run this where slurmctld answers"
        )
    return read_partitions(done.stdout)


def kinds_of_nodes() -> list[Kind]:
    """Return the kinds of nodes of the cluster's partitions; none if sinfo does not tell."""
    return read_kinds(run(["sinfo", "--noheader", "--exact", f"--format={FORMAT}"]).stdout)
