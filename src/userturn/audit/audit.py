"""The result of an audit: what was checked, and what was found."""

from dataclasses import dataclass

from userturn.audit.findings import Finding, Note


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        findings: sorted; empty if everything is as it should be.
        notes: sorted; what a reader should know.
        n_artifacts: that were hashed.
        digest: one hash of all artifacts, equal for equal studies.
    """

    findings: list[Finding]
    notes: list[Note]
    n_artifacts: int
    digest: str
