"""The result of an audit: its findings, its notes, and what became of each artifact.

An artifact was compared, is a root, or was not compared because of something. A root is what no
job can make again without a model or the people who made the study: the configuration, descriptions
of models, plans of requests, trainings. Other checks look at them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from userturn.audit.findings import Compared, Finding, NotCompared, Note
from userturn.plural import number_of
from userturn.provenance.job_record import SWEEPS
from userturn.provenance.study_files import Files

COMPARED, ROOT, OTHER = "compared", "a root", "not compared"
ROOTS = (*SWEEPS, "record_study", "describe_model", "train")
LEFT_OUT = "left out of this copy, or made from rows that are"
NOT_NEEDED = "the study does not need it: it is of cells, tables or a round that it has no more"
NO_JOURNALS = "it is joined from journals, which are not in this copy"
JOINED = ("collect_", "judge")  # names of rules that join what journals have
HAS_FINDING = "it, or what it is made of, is missing or altered, which a finding says"
NO_CHECK = "no check of this version makes it again"


@dataclass(frozen=True)
class Status:
    """What became of an artifact.

    Attributes:
        artifact: its path.
        state: `compared`, `a root` or `not compared`.
        why: why it was not compared.
        could_be: whether another copy, machine or version could compare it.
    """

    artifact: str
    state: str
    why: str = ""
    could_be: bool = False


def checklist(
    files: Files,
    needed: Collection[str],
    broken: Collection[str],
    found: Iterable[object],
    excused: Mapping[str, str],
) -> list[Status]:
    """Return the status of every artifact that records claim, or that is excused, sorted."""
    marks = {m.artifact: m for m in found if isinstance(m, NotCompared)}
    marks |= {path: NotCompared(path, why) for path, why in excused.items()}
    compared = {mark.artifact for mark in found if isinstance(mark, Compared)}
    paths = sorted({*files.recorded, *excused})
    return [_status(files, path, needed, broken, compared, marks) for path in paths]


def _status(
    files: Files,
    path: str,
    needed: Collection[str],
    broken: Collection[str],
    compared: Collection[str],
    marks: Mapping[str, NotCompared],
) -> Status:
    makers = files.makers.get(path, ())
    records = [record for maker in makers if (record := files.records[maker])]
    rule = next((record["rule"] for record in records if path in record["outputs"]), None)
    if path in files.left_out:
        return Status(path, OTHER, LEFT_OUT)
    if path in marks:
        return Status(path, OTHER, marks[path].why, marks[path].could_be)
    if rule is None or rule in ROOTS:
        return Status(path, ROOT)
    if path in compared:
        return Status(path, COMPARED)
    if path not in needed:
        return Status(path, OTHER, NOT_NEEDED)
    if path in broken:
        return Status(path, OTHER, HAS_FINDING, could_be=True)
    if rule.startswith(JOINED) and not files.has_journals:
        return Status(path, OTHER, NO_JOURNALS, could_be=True)
    if files.left_out:
        return Status(path, OTHER, LEFT_OUT)
    return Status(path, OTHER, HAS_FINDING if broken else NO_CHECK, could_be=True)


def with_marks(statuses: Iterable[Status], found: Iterable[object]) -> list[Status]:
    """Return a checklist with the marks of roots that were compared after all, or could be."""
    marks = {mark.artifact: mark for mark in found if isinstance(mark, Compared | NotCompared)}
    return [_marked(of, marks.get(of.artifact)) if of.state == ROOT else of for of in statuses]


def _marked(status: Status, mark: Compared | NotCompared | None) -> Status:
    match mark:
        case None:
            return status
        case Compared():
            return Status(status.artifact, COMPARED)
        case NotCompared():
            return Status(status.artifact, OTHER, mark.why, mark.could_be)


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
