"""Findings and notes of an audit."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from shlex import quote


@dataclass(frozen=True, order=True)
class Finding:
    """A fault in a study.

    Attributes:
        check: name of the check that found it.
        artifact: path from the project's folder.
        expected: the expected content.
        found: the actual content.
        fix: the command that fixes it, or what to do.
    """

    check: str
    artifact: str
    expected: str
    found: str
    fix: str


@dataclass(frozen=True, order=True)
class Note:
    """A fact that a reader should know and that is not a fault."""

    check: str
    artifact: str
    text: str


def remake(path: str) -> str:
    """Return the command that remakes an artifact and everything that depends on it."""
    if path.startswith("results/requests/"):
        folder = str(PurePosixPath(path).parent)
        return f"rm -r {quote(folder)} && snakemake"  # its cell counts as pending then
    if path.startswith("results/leases/"):
        return f"rm {quote(path)}"
    return f"snakemake --force {quote(path)} && snakemake"
