"""What an audit finds: what was expected, what is there, and how to fix it."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from shlex import quote


@dataclass(frozen=True, order=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        check: which of an audit's checks found it.
        artifact: path from the project's folder.
        expected: what should be there.
        found: what is there.
        fix: the command that fixes it, or what to do.
    """

    check: str
    artifact: str
    expected: str
    found: str
    fix: str


@dataclass(frozen=True, order=True)
class Note:
    """Something that a reader should know and that is not a fault."""

    check: str
    artifact: str
    text: str


def remake(path: str) -> str:
    """Return the command that makes an artifact again, and then all that depends on it."""
    if path.startswith("results/requests/"):
        folder = str(PurePosixPath(path).parent)
        return f"rm -r {quote(folder)} && snakemake"  # its cell counts as pending then
    if path.startswith("results/leases/"):
        return f"rm {quote(path)}"
    return f"snakemake --force {quote(path)} && snakemake"
