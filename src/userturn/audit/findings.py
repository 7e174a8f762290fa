"""Findings and notes of an audit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from shlex import quote

# An audit writes the study's configuration there: its commands plan this study and no other.
CONFIG = "results/audit/config.yaml"
SNAKEMAKE = f"snakemake --configfile {CONFIG} --cores all"
COMPARED, ROOT, OTHER = "compared", "a root", "not compared"


@dataclass(frozen=True, order=True)
class Finding:
    """A fault in a study.

    Attributes:
        check: name of the check that found it.
        artifact: path from the project's folder.
        expected: the expected content.
        found: the actual content.
        fix: the command that fixes it, or what to do; without, the one that makes it again.
    """

    check: str
    artifact: str
    expected: str
    found: str
    fix: str = ""

    def __post_init__(self) -> None:
        """Name the command that makes the artifact again."""
        object.__setattr__(self, "fix", self.fix or remake(self.artifact))


@dataclass(frozen=True, order=True)
class Note:
    """A fact that a reader should know and that is not a fault."""

    check: str
    artifact: str
    text: str


@dataclass(frozen=True)
class Status:
    """What became of an artifact.

    Attributes:
        artifact: its path.
        state: `COMPARED`, with or without a finding; `ROOT`; or `OTHER`.
        why: why it was not compared.
        could_be: whether another copy, machine or version could compare it.
    """

    artifact: str
    state: str
    why: str = ""
    could_be: bool = False


def not_compared(artifact: str, why: str, could_be: bool = True) -> Status:
    """Return that an artifact was not made again."""
    return Status(artifact, OTHER, why, could_be)


Item = Finding | Note | Status


def remake(path: str) -> str:
    """Return the command that remakes an artifact and everything that depends on it."""
    if path.startswith("results/requests/"):
        plan = PurePosixPath(path)
        marker = f"results/sweeps/{plan.parts[2]}/{plan.stem}.json"  # without a plan: planned again
        again = f"{SNAKEMAKE} --force {quote(marker)} && {SNAKEMAKE}"
        return f"rm -rf {quote(str(plan.parent))} && {again}"
    if path.startswith("results/leases/"):
        return f"rm {quote(path)}"
    if path.startswith("results/sweeps/") and "/finished/" in path:
        marker = path.replace("/finished/", "/", 1)  # its sweep writes the note, and asks nothing
        return f"rm -f {quote(path)} && {SNAKEMAKE} --force {quote(marker)} && {SNAKEMAKE}"
    if path.endswith("/annotations.parquet"):  # the record says which files of labels there are
        return f"{SNAKEMAKE} --force results/study.json {quote(path)} && {SNAKEMAKE}"
    if path == "results/study.json":  # the configuration that the commands use
        return f"restore {path} from a copy, or run snakemake with the configuration of the study"
    return f"{SNAKEMAKE} --force {quote(_target(path))} && {SNAKEMAKE}"


def with_present_sweeps(finding: Finding, sweeps: Mapping[str, Sequence[str]]) -> Finding:
    """Return a finding whose fix asks for the sweeps that its model has now.

    Args:
        finding: its fix may name the model, and a shard, as its journal and plans do.
        sweeps: the markers of the sweeps of each model, by the name that it was first asked under.
    """
    marker = re.search(r"(?<=--force )results/sweeps/([^/]+)/[^ ]+", finding.fix)
    if marker is None:
        return finding
    if marker[1] not in sweeps:
        fix = f"restore it from a copy, or select the model {marker[1]} again and audit again"
        return replace(finding, fix=fix)
    now = " ".join(map(quote, sweeps[marker[1]]))
    return replace(finding, fix=finding.fix.replace(marker[0], now, 1))


def _target(path: str) -> str:
    """Return the file to ask Snakemake for so that it makes an artifact again."""
    if path.startswith("results/revisions/"):
        return path.replace("revisions", "models", 1)
    if path.startswith("results/served/"):
        return path.replace("served", "sweeps", 1)
    return "results/report/index.html" if path.startswith("results/report/") else path
