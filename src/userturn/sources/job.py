"""What a rule with a script is: its inputs, its outputs, and the function that makes them.

Functions are named, and imported in the job that calls them: this is read whenever Snakemake
starts.
"""

import re
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

Paths = Mapping[str, str | list[str]]
NOTHING: Mapping[str, str] = MappingProxyType({})


class Job(NamedTuple):
    """What the jobs of a rule do.

    A text that begins with `study.` is the name of what a `Study` says of the job: a value, or what
    a method returns for the job's wildcards (`by_wildcards`).

    Attributes:
        does: the rule in one sentence.
        function: dotted name of the function below `userturn`; `run_job` says what it is given.
        inputs: by name, a path with wildcards, or what a study says.
        outputs: by name, a path with wildcards, or several. Without any, the rule is written out
            in rules/*.smk, because of its resources.
        params: by name, what a study says. Another value makes the outputs again.
        settings: by name, the key of the configuration that the function takes besides, with dots.
        environment: the name of its file in envs/.
        n_threads: cores.
        n_requests: what a study says of how many questions to a judge are in flight.
        wildcards: regular expressions of wildcards that are narrower here than elsewhere.
    """

    does: str
    function: str
    inputs: Paths = NOTHING
    outputs: Paths = NOTHING
    params: Mapping[str, str] = NOTHING
    settings: Mapping[str, str] = NOTHING
    environment: str = "analysis"
    n_threads: int = 1
    n_requests: str = ""
    wildcards: Mapping[str, str] = NOTHING

    def log(self, rule: str) -> str:
        """Return the log of a rule: named by the parts of its first output with a wildcard."""
        first = next(iter(self.outputs.values()))
        path = first if isinstance(first, str) else first[0]
        named = [part for part in path.split("/") if "{" in part]
        return re.sub(r"\.\w+$", "", "/".join(["logs", rule, *named])) + ".log"


def identity(asked: str) -> dict[str, str]:
    """Return the params of outputs that carry an identity: its name in a `Study`."""
    return {"identity": f"study.{asked}"}


def collecting(does: str, path: str, **params: str) -> Job:
    """Return the job that makes a table of a pattern of paths from the journal.

    Further params are there for studies that were finished with them: without, Snakemake would make
    their tables again.
    """
    return Job(
        does,
        "generation.collect.collect_table",
        {"sweeps": f"study.generation.waits_for({path})"},
        {"path_to_table": path},
        identity(f"identity({path})") | params,
    )


def named(name: str) -> Any:
    """Return what has a dotted name below `userturn`, imported."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(f"userturn.{module}"), attribute)
