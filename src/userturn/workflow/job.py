"""What a rule with a script is: its inputs, its outputs, and the function that makes them.

Functions are named, and imported in the job that calls them: this is read whenever Snakemake
starts.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

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


def folder_of(path: str) -> str:
    """Return a folder of the results as `study.made_of` takes it: below these."""
    return path.removeprefix("results/")


def identity(asked: str) -> dict[str, str]:
    """Return the params of outputs that carry an identity: its name in a `Study`."""
    return {"identity": f"study.{asked}"}
