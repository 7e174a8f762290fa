"""The result of an audit: its findings, its notes, and what became of each artifact.

An artifact was compared, is a root, or was not compared because of something. A root is what no
job can make again without a model or the people who made the study: the configuration, descriptions
of models, plans of requests, trainings. Other checks look at them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from userturn.audit.findings import COMPARED, OTHER, ROOT, Finding, Note, Status, not_compared
from userturn.wording import number_of
from userturn.workflow.job_record import SWEEPS
from userturn.workflow.study_files import Files

ROOTS = (*SWEEPS, "record_study", "describe_model", "train")
LEFT_OUT = "left out of this copy, or made from rows that are"
NOT_NEEDED = "the study does not need it: it is of cells, tables or a round that it has no more"
NO_JOURNALS = "it is joined from journals, which are not in this copy"
JOINED = ("collect_", "judge")  # names of rules that join what journals have
HAS_FINDING = "it, or what it is made of, is missing or altered, which a finding says"
NO_CHECK = "no check of this version makes it again"


def checklist(
    files: Files,
    needed: Collection[str],
    broken: Collection[str],
    found: Iterable[object],
    excused: Mapping[str, str],
) -> list[Status]:
    """Return the status of every artifact that records claim, or that is excused, sorted."""
    said = [item for item in found if isinstance(item, Status)]
    marks = {of.artifact: of for of in sorted(said, key=lambda of: of.state == OTHER)}
    marks |= {path: not_compared(path, why) for path, why in excused.items()}
    paths = sorted({*files.recorded, *excused})
    return [_status(files, path, needed, broken, marks) for path in paths]


def _status(
    files: Files,
    path: str,
    needed: Collection[str],
    broken: Collection[str],
    marks: Mapping[str, Status],
) -> Status:
    makers = files.makers.get(path, ())
    records = [record for maker in makers if (record := files.records[maker])]
    rule = next((record["rule"] for record in records if path in record["outputs"]), None)
    if path in files.left_out:
        return Status(path, OTHER, LEFT_OUT)
    if path in marks:
        return marks[path]
    if rule is None or rule in ROOTS:
        return Status(path, ROOT)
    if path not in needed:
        return Status(path, OTHER, NOT_NEEDED)
    if path in broken:
        return not_compared(path, HAS_FINDING)
    if rule.startswith(JOINED) and not files.has_journals:
        return not_compared(path, NO_JOURNALS)
    if files.left_out:
        return Status(path, OTHER, LEFT_OUT)
    return not_compared(path, HAS_FINDING if broken else NO_CHECK)


def counted(statuses: Iterable[Status]) -> str:
    """Return how many artifacts have each state, in words."""
    n = Counter(status.state for status in statuses)
    roots = number_of(n[ROOT], "root")
    return f"{n[COMPARED]} compared, {roots}, {n[OTHER]} not compared"


def reasons(statuses: Iterable[Status]) -> dict[str, list[str]]:
    """Return the artifacts that were not compared, by the reason."""
    found: dict[str, list[str]] = {}
    for status in statuses:
        if status.state == OTHER:
            found.setdefault(status.why, []).append(status.artifact)
    return found


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    Attributes:
        findings: sorted; empty if nothing is wrong.
        notes: sorted; facts that a reader should know.
        n_artifacts: number of artifacts that records claim and that exist or were left out, and of
            those that this version would make besides.
        digest: one hash of all artifacts and how they were made, equal for equal studies.
        records_digest: one hash of all records, with times, machines and journals.
        made: when and by which code the study was made, in words.
        statuses: what became of each artifact.
        needs: what the checks need that were not made, by name.
    """

    findings: list[Finding]
    notes: list[Note]
    n_artifacts: int
    digest: str
    records_digest: str
    made: str = ""
    statuses: Sequence[Status] = ()
    needs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_partial(self) -> bool:
        """Whether something was not compared that could be."""
        return any(of.could_be for of in self.statuses)


def verdict_of(found: Audit) -> str:
    """Return the result of an audit in a few words."""
    counts = Counter(finding.check for finding in found.findings)
    kinds = ", ".join(f"{n} {check}" for check, n in sorted(counts.items()))
    n = number_of(len(found.findings), "finding")
    compared = f"; {counted(found.statuses)}" if found.statuses else ""
    return f"{n} ({kinds}){compared}" if kinds else f"no finding{compared}"
