"""What a job that loads a model asks of a cluster: devices, memory and time, from its entry."""

from collections.abc import Mapping
from typing import Any

THREADS = 8


class Placement:
    """The resources of jobs by their wildcards and the attempt (from 1)."""

    def __init__(self, entries: Mapping[str, Mapping[str, Any]], wildcard: str = "model") -> None:
        """Take complete entries of models, or of judges, by the names that a wildcard has."""
        self.entries = entries
        self.wildcard = wildcard

    def _entry(self, wildcards: Any) -> Mapping[str, Any]:
        return self.entries[getattr(wildcards, self.wildcard)]

    def gpu(self, wildcards: Any) -> int:
        """Return the GPUs of a job on one node; none for several nodes, see `gres`."""
        entry = self._entry(wildcards)
        return int(entry["gpus"]) if entry["nodes"] == 1 else 0

    def gpu_model(self, wildcards: Any) -> str:
        """Return the type of a job's GPUs on one node, as the cluster calls it; empty for any."""
        entry = self._entry(wildcards)
        return str(entry.get("gpu_model", "")) if entry["nodes"] == 1 else ""

    def gres(self, wildcards: Any) -> str:
        """Return the GPUs of each of several nodes, such as gpu:h100:4; empty for one node.

        A number for the whole job would let SLURM spread it unevenly, and the SLURM plugin would
        ask for all of it on the first node.
        """
        entry = self._entry(wildcards)
        n_each = entry["gpus"] // entry["nodes"]
        if entry["nodes"] == 1 or n_each == 0:
            return ""
        return ":".join(["gpu", *filter(None, [entry.get("gpu_model")]), str(n_each)])

    def nodes(self, wildcards: Any) -> int:
        """Return the nodes of a job: without it SLURM may spread GPUs over several."""
        return int(self._entry(wildcards)["nodes"])

    def threads(self, wildcards: Any) -> int:
        """Return the CPU cores on each node: vLLM wants two, and one for each GPU, or more."""
        entry = self._entry(wildcards)
        return max(THREADS, 2 + 2 * int(entry["gpus"]) // int(entry["nodes"]))

    def mem_mb(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of a job in MB: half as much again in each further attempt."""
        entry = self._entry(wildcards)
        return int(
            min(entry["mem_mb"] * (1 + attempt) // 2, max(entry["max_mem_mb"], entry["mem_mb"]))
        )

    def runtime(self, wildcards: Any, attempt: int) -> int:
        """Return the time of a job in minutes: as much again in each further attempt."""
        entry = self._entry(wildcards)
        most = max(entry["max_runtime"], entry["runtime"])
        return int(min(entry["runtime"] * attempt, most))
