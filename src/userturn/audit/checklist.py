"""What became of each artifact in an audit: compared, a root, or not compared because of something.

A root is what no job can make again without a model or the people who made the study: the
configuration, descriptions of models, plans of requests, trainings. Other checks look at them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from userturn.audit.findings import Compared, NotCompared
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
    files: Files, needed: Collection[str], broken: Collection[str], found: Iterable[object]
) -> list[Status]:
    """Return the status of every artifact that records claim, sorted.

    Args:
        files: the files of a results folder.
        needed: the artifacts that the study's configuration asks for.
        broken: artifacts that are missing or altered.
        found: what the checks said, with marks of what they compared.
    """
    marks = {m.artifact: m for m in found if isinstance(m, NotCompared)}
    compared = {mark.artifact for mark in found if isinstance(mark, Compared)}
    return [_status(files, path, needed, broken, compared, marks) for path in files.recorded]


def _status(
    files: Files,
    path: str,
    needed: Collection[str],
    broken: Collection[str],
    compared: Collection[str],
    marks: Mapping[str, NotCompared],
) -> Status:
    records = [record for maker in files.makers[path] if (record := files.records[maker])]
    rule = next((record["rule"] for record in records if path in record["outputs"]), None)
    if path in files.left_out:
        return Status(path, OTHER, LEFT_OUT)
    if rule is None or rule in ROOTS:
        return Status(path, ROOT)
    if path in marks:
        return Status(path, OTHER, marks[path].why, marks[path].could_be)
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
