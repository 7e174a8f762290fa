"""Limits that sbatch does not enforce, and that leave a job waiting for ever."""

import re
from collections.abc import Mapping
from typing import NamedTuple

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
    """

    name: str
    is_default: bool
    is_up: bool
    preempt_mode: str
    minutes: int | None
    mem_mb: int | None
    nodes: int | None


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
    return None
