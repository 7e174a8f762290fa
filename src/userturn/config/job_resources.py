"""The resources of a job that loads a model: one table, from which everything else follows.

A setting is a row of SETTINGS. The configuration's schema, the resources of the rules, what
`userturn doctor` tries, and the defaults that `config.yaml` must give are derived from it.
None of these keys affects a model's output, so none is part of an identity.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NotRequired, TypedDict

from userturn.errors import noted_error

THREADS = 8
MEMORY, TIME = "memory", "time"  # what a job ran out of

# What attempts at a job ran out of in this run, by the job's log.
_ends: dict[str, list[str]] = {}


def note_end(log: str, lacked: str) -> None:
    """Note that an attempt at the job with a log ran out of memory or time."""
    _ends.setdefault(log, []).append(lacked)


class ResourceEntry(TypedDict):
    """The keys of a model's or judge's complete entry that set the resources of its jobs."""

    gpus: int
    gpu_model: NotRequired[str]
    partition: NotRequired[str]
    account: NotRequired[str]
    qos: NotRequired[str]
    constraint: NotRequired[str]
    local_weights: NotRequired[bool]
    nodes: int
    shards: int
    mem_mb: int
    max_mem_mb: int
    runtime: int
    max_runtime: int


ENDS_AT_ONCE = ResourceEntry(  # of a retry that would meet an error which stays
    gpus=0, nodes=1, shards=1, mem_mb=4000, max_mem_mb=4000, runtime=10, max_runtime=10
)
Value = Callable[[ResourceEntry, int], int | str]
"""A resource by an entry and the attempt (from 1); 0 or an empty text means none."""


class Setting(NamedTuple):
    """One key that sets a resource of a job.

    It is for the rules `sweep` (a model's entry), `train` (`training` in it) or `serve_judge` (a
    judge's entry).
    """

    schema: Mapping[str, Any]  # of its value
    rules: tuple[str, ...]
    resources: Mapping[str, Value] = {}  # of Snakemake, by name
    is_optional: bool = False  # whether `model_defaults` may leave it out
    grows_after: str = ""  # MEMORY or TIME: after an attempt ran out of it, the next asks for more


def _gpu(entry: ResourceEntry, attempt: int) -> int:
    """Return the GPUs of a job on one node; 0 for several nodes, see `_gres`."""
    return int(entry["gpus"]) if entry["nodes"] == 1 else 0


def _gres(entry: ResourceEntry, attempt: int) -> str:
    """Return the GPUs of each of several nodes, such as gpu:h100:4; empty for one node.

    A number for the whole job would let SLURM spread it unevenly, and the SLURM plugin would
    ask for all of it on the first node.
    """
    n_each = entry["gpus"] // entry["nodes"]
    if entry["nodes"] == 1 or n_each == 0:
        return ""
    return ":".join(["gpu", *filter(None, [entry.get("gpu_model")]), str(n_each)])


def cores_of(entry: ResourceEntry) -> int:
    """Return the CPU cores on each node: 2 and 2 for each GPU, at least `THREADS`."""
    return max(THREADS, 2 + 2 * int(entry["gpus"]) // int(entry["nodes"]))  # vLLM needs 2 + GPUs


def _mem_mb(entry: ResourceEntry, attempt: int) -> int:
    """Return the memory of a job in MB; each attempt adds half of the first one's."""
    most = max(entry["max_mem_mb"], entry["mem_mb"])
    return int(min(entry["mem_mb"] * (1 + attempt) // 2, most))


def _runtime(entry: ResourceEntry, attempt: int) -> int:
    """Return the time limit of a job in minutes; each attempt adds that of the first one."""
    most = max(entry["max_runtime"], entry["runtime"])
    return int(min(entry["runtime"] * attempt, most))


def _whole(minimum: int, description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "description": description}


def _placement(key: str, resource: str, description: str) -> Setting:
    """Return a setting whose text says where a job may run, or who pays for it."""

    def value(entry: ResourceEntry, attempt: int) -> str:
        return str(entry.get(key, ""))

    schema = {"type": "string", "pattern": PLACEMENT, "description": description}
    return Setting(schema, EVERY, {resource: value}, is_optional=True)


PLACEMENT = r"^[A-Za-z0-9_.,&|()\[\]*@+-]+$"  # names, and features that are combined
GPU_MODEL = {
    "type": "string",
    "pattern": "^[A-Za-z0-9_.]+$",
    "description": "Type of GPU, as the cluster calls it.",
}
EVERY = ("sweep", "train", "serve_judge")
SETTINGS = {
    "gpus": Setting(
        _whole(0, "GPUs of one copy of the model."),
        EVERY,
        {"gpu": _gpu, "gres": _gres},
    ),
    "gpu_model": Setting(
        GPU_MODEL,
        EVERY,
        {"gpu_model": lambda e, _: str(e.get("gpu_model", "")) if e["nodes"] == 1 else ""},
        is_optional=True,
    ),
    "nodes": Setting(
        _whole(1, "Nodes that the GPUs of one copy are spread over."),
        ("sweep",),
        {"nodes": lambda entry, _: int(entry["nodes"])},  # else SLURM may spread GPUs over several
    ),
    "shards": Setting(
        _whole(1, "Jobs that share a model's items.") | {"maximum": 1000}, ("sweep",)
    ),
    "mem_mb": Setting(
        _whole(1, "MB of memory of the first attempt; 50% more after each one that runs out."),
        EVERY,
        {"mem_mb": _mem_mb},
        grows_after=MEMORY,
    ),
    "max_mem_mb": Setting(_whole(1, "MB of memory of an attempt at most."), ("sweep", "train")),
    "runtime": Setting(
        _whole(1, "Minutes of the first attempt; as many more after each one that runs out."),
        EVERY,
        {"runtime": _runtime},
        grows_after=TIME,
    ),
    "max_runtime": Setting(_whole(1, "Minutes of an attempt at most."), ("sweep", "train")),
    "partition": _placement(
        "partition", "slurm_partition", "Partition of its jobs; default: that of the profile."
    ),
    "account": _placement(
        "account", "slurm_account", "Account that pays; default: that of the profile."
    ),
    "qos": _placement(
        "qos", "qos", "Quality of service of its jobs; default: that of the profile."
    ),
    "constraint": _placement("constraint", "constraint", "Feature that its nodes must have."),
    "local_weights": Setting(
        {
            "type": "boolean",
            "description": "Copy the weights to the node's own disk first: $USERTURN_SCRATCH.",
        },
        ("sweep",),
        is_optional=True,
    ),
}
PLACES = {"slurm_partition", "slurm_account", "qos", "constraint"}
ONE_PROCESS = {"gpus": {"maximum": 1, "description": "0 or 1: training is one process."}}


def schemas_for(rule: str) -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each key that sets a resource of a rule's jobs."""
    narrower = ONE_PROCESS if rule == "train" else {}
    return {
        key: {**setting.schema, **narrower.get(key, {})}
        for key, setting in SETTINGS.items()
        if rule in setting.rules
    }


def resources_of(entry: ResourceEntry, attempt: int = 1) -> dict[str, int | str]:
    """Return the resources of Snakemake that an attempt at a job asks for, by name."""
    resources = {
        name: value_of(entry, attempt)
        for setting in SETTINGS.values()
        for name, value_of in setting.resources.items()
    }
    return {name: value for name, value in resources.items() if value}


class Resources:
    """The resources of a rule's jobs, as functions of wildcards and attempt for Snakemake."""

    def __init__(
        self, entries: Mapping[str, ResourceEntry], log: str, wildcard: str = "model"
    ) -> None:
        """Take complete entries by a wildcard's values, and `logs/x/{wildcards.model}.log`."""
        self.entries, self.log, self.wildcard = entries, log, wildcard

    def _job_function(self, value_of: Value, grows_after: str) -> Callable[[Any, int], int | str]:
        def value_of_job(wildcards: Any, attempt: int) -> int | str:
            entry = self.entries[getattr(wildcards, self.wildcard)]
            if attempt == 1:
                return value_of(entry, 1)
            log = self.log.format(wildcards=wildcards)
            if noted_error(log):
                return value_of(ENDS_AT_ONCE, 1)
            return value_of(entry, 1 + _ends.get(log, []).count(grows_after))

        return value_of_job

    def threads(self, wildcards: Any) -> int:
        """Return the CPU cores of a job on each node."""
        return cores_of(self.entries[getattr(wildcards, self.wildcard)])

    def functions(
        self, defaults: Mapping[str, Any] | None = None
    ) -> dict[str, Callable[[Any, int], int | str]]:
        """Return a function of wildcards and attempt for each resource of Snakemake.

        One in `PLACES` that no entry sets is left to the profile. If only some entries set it, the
        others get that of `defaults`, which are Snakemake's.
        """
        return {
            name: self._or_default(
                self._job_function(value_of, setting.grows_after), name, defaults
            )
            for key, setting in SETTINGS.items()
            if not setting.resources.keys() & PLACES or any(key in e for e in self.entries.values())
            for name, value_of in setting.resources.items()
        }

    @staticmethod
    def _or_default(
        value_of: Callable[[Any, int], int | str], name: str, defaults: Mapping[str, Any] | None
    ) -> Callable[[Any, int], int | str]:
        if defaults is None or name not in defaults:
            return value_of

        def value_of_job(wildcards: Any, attempt: int) -> int | str:
            own, default = value_of(wildcards, attempt), defaults[name]
            if own or not hasattr(default, "evaluate"):
                return own or str(default)
            stand_ins = {"input": (), "attempt": attempt, "threads": 1, "rulename": ""}
            return str(default.evaluate(wildcards, **stand_ins, async_run=None).value)

        return value_of_job
