"""The result of an audit: its findings, its notes and the study's digests."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from userturn.audit.checklist import Status, counted
from userturn.audit.findings import Finding, Note
from userturn.plural import number_of


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes:
        findings: sorted; empty if nothing is wrong.
        of_another_version: sorted; artifacts of other code that this code would make differently.
        notes: sorted; facts that a reader should know.
        n_artifacts: number of artifacts that records claim and that exist or were left out.
        digest: one hash of all artifacts and how they were made, equal for equal studies.
        records_digest: one hash of all records, with times, machines and journals.
        made: when and by which code the study was made, in words.
        n_looked_at: by check, how many files it looked at, None where it was not made.
        statuses: what became of each artifact.
    """

    findings: list[Finding]
    of_another_version: list[Finding]
    notes: list[Note]
    n_artifacts: int
    digest: str
    records_digest: str
    made: str = ""
    n_looked_at: Mapping[str, int | None] = field(default_factory=dict)
    statuses: Sequence[Status] = ()

    @property
    def is_partial(self) -> bool:
        """Whether something was not compared that could be."""
        return bool(self.of_another_version) or any(of.could_be for of in self.statuses)


OTHER_VERSION = (
    "these artifacts were made by another version of userturn, and this version would make them "
    "differently: their hashes, inputs and requests were checked, their content was not. Audit "
    "with that version, or run `snakemake`, which makes them again without asking any model"
)


def verdict_of(found: Audit) -> str:
    """Return the result of an audit in a few words."""
    counts = Counter(finding.check for finding in found.findings)
    kinds = ", ".join(f"{n} {check}" for check, n in sorted(counts.items()))
    n, n_other = len(found.findings), len(found.of_another_version)
    verdict = f"{number_of(n, 'finding')} ({kinds})" if kinds else "no finding"
    artifacts = f"{number_of(n_other, 'artifact')} of another version"
    other = f"; {artifacts}: content not compared" if n_other else ""
    compared = f"; {counted(found.statuses)}" if found.statuses else ""
    return f"{verdict}{other}{compared}"
