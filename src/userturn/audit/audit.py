"""The result of an audit: what was checked, and what was found."""

from collections import Counter
from dataclasses import dataclass

from userturn.audit.findings import Finding, Note


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        findings: sorted; empty if everything is as it should be.
        of_another_version: sorted; what other code made, and this code would make otherwise.
        notes: sorted; what a reader should know.
        n_artifacts: that records claim and that are there, or were left out.
        digest: one hash of all artifacts and how they were made, equal for equal studies.
        records_digest: one hash of all records, with times, machines and journals.
    """

    findings: list[Finding]
    of_another_version: list[Finding]
    notes: list[Note]
    n_artifacts: int
    digest: str
    records_digest: str


OTHER_VERSION = (
    "these artifacts were made by another version of userturn, and this version would make them "
    "otherwise: their hashes, inputs and requests were checked, their content was not. Audit with "
    "that version, or run `snakemake`, which makes them again and asks no model"
)


def verdict_of(found: Audit) -> str:
    """Return the sum of an audit in a few words."""
    counts = Counter(finding.check for finding in found.findings)
    kinds = ", ".join(f"{n} {check}" for check, n in sorted(counts.items()))
    n, n_other = len(found.findings), len(found.of_another_version)
    verdict = f"{n} finding{'s' if n > 1 else ''} ({kinds})" if kinds else "no finding"
    other = f"; {n_other} artifacts of another version were not compared" if n_other else ""
    return f"{verdict}{other}"
