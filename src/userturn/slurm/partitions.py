"""Limits that sbatch does not enforce, and that leave a job waiting for ever."""

import re
from collections.abc import Mapping
from typing import NamedTuple

OWNERS = {"--account": "Accounts", "--qos": "Qos"}  # who a job is charged to, as scontrol names it
NONE = ("UNLIMITED", "INFINITE", "NONE", "")


class Partition(NamedTuple):
    """A partition's limits; None for no limit.

    Attributes:
        name: its name.
        is_default: whether jobs that name no partition go there.
        is_up: whether jobs start there.
        preempt_mode: what happens to a preempted job.
        minutes: longest time of a job.
        mem_mb: most memory of a job on one node.
        nodes: most nodes of a job.
        least_nodes: fewest nodes of a job.
        allowed: accounts and QOS whose jobs alone start there, by sbatch's option; else all do.
        denied: accounts and QOS whose jobs never start there, by sbatch's option.
    """

    name: str
    is_default: bool
    is_up: bool
    preempt_mode: str
    minutes: int | None
    mem_mb: int | None
    nodes: int | None
    least_nodes: int | None
    allowed: Mapping[str, list[str]]
    denied: Mapping[str, list[str]]


def minutes(text: str) -> int | None:
    """Return a time of SLURM in whole minutes, rounded down; None for no limit.

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


def read_partitions(said: str) -> dict[str, Partition]:
    """Return the partitions that `scontrol show partition --oneliner` tells, by name."""
    found = {}
    for line in said.splitlines():
        of = dict(re.findall(r"(\w+)=(\S*)", line))
        if "PartitionName" in of:
            found[of["PartitionName"]] = Partition(
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
    return found


def never_starts(partition: Partition, options: Mapping[str, str]) -> str | None:
    """Return why a job with these sbatch options would wait in a partition for ever, or None."""
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
    return _unwanted(partition, options)


def _unwanted(partition: Partition, options: Mapping[str, str]) -> str | None:
    """Return why a partition starts no job of this account or QOS, or None."""
    for option in OWNERS:
        owner = options.get(option, "").lower()
        allowed = partition.allowed.get(option, [owner])
        if owner and (owner not in allowed or owner in partition.denied.get(option, [])):
            return f"{partition.name} starts no jobs with {option}={owner}"
    return None
