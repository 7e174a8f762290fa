"""The kinds of nodes of a cluster, as sinfo tells them, and what a job asks that none has."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from userturn.errors import near_miss

FORMAT = "%R|%c|%m|%G|%f"  # partition, cores, MB, generic resources, features
GPUS = re.compile(r"\bgpu(?::([^:,()]+))?:(\d+)")
NAMES = re.compile(r"[A-Za-z_][\w.-]*")


class Kind(NamedTuple):
    """Nodes of one partition that are alike."""

    partition: str
    cores: int
    mem_mb: int
    gpus: Mapping[str, int]  # on each node, by lower-case type; "" where it has none
    features: frozenset[str]

    def n_gpus(self, of: str = "") -> int:
        """Return the GPUs on each node, of one type or of all."""
        return self.gpus.get(of, 0) if of else sum(self.gpus.values())


def read_kinds(output: str) -> list[Kind]:
    """Return the kinds of nodes that `sinfo --exact` tells in FORMAT."""
    kinds = []
    for line in output.splitlines():
        values = line.split("|")
        if len(values) == 5 and values[1].isdigit() and values[2].isdigit():
            partition, cores, mem_mb, resources, features = values
            gpus = Counter[str]()
            for kind, n in GPUS.findall(resources):  # a type once for each socket
                gpus[kind.lower()] += int(n)
            named = frozenset(NAMES.findall("" if features == "(null)" else features))
            kinds.append(Kind(partition, int(cores), int(mem_mb), gpus, named))
    return kinds


def gpus_asked(options: Mapping[str, str]) -> tuple[str, int]:
    """Return the type of GPU that sbatch options ask for, "" for any, and how many on each node."""
    total = re.fullmatch(r"(?:(.+):)?(\d+)", options.get("--gpus", ""))
    if total:
        return (total[1] or "").lower(), ceil(int(total[2]) / int(options.get("--nodes", 1)))
    match = GPUS.search(options.get("--gres", ""))
    return ((match[1] or "").lower(), int(match[2])) if match else ("", 0)


def lacking(
    options: Mapping[str, str], partitions: Sequence[str], kinds: Sequence[Kind]
) -> Iterator[str]:
    """Yield what a job asks of a node that no node of its partitions has, and what to do."""
    here = [kind for kind in kinds if kind.partition in partitions]
    if not here:
        return
    where = f"no node of partition {', '.join(partitions)}"
    of, n_gpus = gpus_asked(options)
    if n_gpus and not any(kind.n_gpus() for kind in here):
        others = sorted({kind.partition for kind in kinds if kind.n_gpus()})
        yield (
            f"{where} has a GPU; name one that has some as slurm_partition in the profile or "
            f"partition in the entry: {', '.join(others) or 'there is none'}"
        )
    types = {kind for one in here for kind in one.gpus if kind}
    if of and types and of not in types:
        yield f"correct gpu_model: {where} has a GPU of type '{of}'{near_miss(of, types)}"
    most = max((kind.n_gpus(of) for kind in here), default=0)
    if n_gpus > most:
        named = f"GPUs of type '{of}'" if of else "GPUs"
        cure = "lower gpus, or spread them over several nodes"
        yield f"{where} has {n_gpus} {named}, the most is {most}; {cure}"
    features = frozenset[str]().union(*(kind.features for kind in here))
    for name in NAMES.findall(options.get("--constraint", "")):
        if name not in features:
            yield f"correct constraint: {where} has '{name}'{near_miss(name, features)}"
    for option, has, unit, cure in (
        ("--mem", max(kind.mem_mb for kind in here), "MB of memory", "mem_mb or max_mem_mb"),
        ("--cpus-per-task", max(kind.cores for kind in here), "cores", "`set-threads`"),
    ):
        wish = options.get(option, "")
        if wish.isdigit() and int(wish) > has:
            yield f"{where} has {wish} {unit}, the most is {has}; lower {cure}"
