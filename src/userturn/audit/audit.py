"""The checks of an audit, and its result: findings, notes, and what became of each artifact.

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

CHECKS = {
    "completeness": "an artifact that the configuration asks for, or a job made, is missing",
    "hashes": "an artifact differs from what its job wrote; a drawn round differs from its copy",
    "records": "a provenance record was altered; an artifact has no record, or two",
    "chain": "an artifact was made from another version of its inputs than the one that is there",
    "orphans": "a table, JSON file or journal that no job made",
    "identities": "an artifact has other settings than the study's configuration asks for",
    "keys": "a request's key or seed does not follow from model, prompt, settings, item and sample",
    "rows": "a plan, answer, user turn or score is missing, duplicated, out of order, or differs "
    "from the journal",
    "probes": "the answer before a turn is not the model's own, changed as its perturbation says, "
    "or a probe does not end in the user header",
    "sources": "a dataset differs from its file, a label from people's files, or a local model's "
    "files from those it was described with, where these files are at hand",
    "controls": "a control turn or a labelled turn is not what planting it again gives",
    "prompts": "a prompt is not what the template renders, a text not what its tokens decode to",
    "verdicts": "a verdict differs from the judge's journal, or from what the heuristic judge says",
    "grades": "an answer gets another grade from the verifier (random ones are graded again)",
    "samples": "turns for people are not those that their rule draws, or are shown otherwise",
    "tables": "a number does not follow from what it counts; CSV, Markdown or LaTeX differ from "
    "their Parquet file, a claims sheet from the tables",
    "figures": "a figure does not show what its tables hold, or a picture not its figure",
    "pages": "the report or annotators' task differs from what its tables, figures and turns give",
    "journals": "a journal does not begin with what a job recorded of it; it has lines that no job "
    "recorded",
    "markers": "what a sweep or a judge's job notes as planned, found and asked does not follow "
    "from plans and records",
    "training": "the record of a training differs from recipe, data, base or last checkpoint",
    "left out": "a file was left out of the copy although the configuration does not withhold it",
    "paths": "a stranger's study names a file outside of it, which is not opened",
    "pins": "a model or dataset of the hub has no commit; a model's description differs from its "
    "entry or its pin",
    "proofs": "a model's prompts were never checked",
    "rubrics": "a judge used another rubric than the annotators",
    "coverage": "a cell has more errors than `max_error_share` allows",
    "held out": "items of a dataset occur in training data, and no recipe declares it",
    "secrets": "something looks like a key or password",
    "regenerate": "a request that is run again gives another result",
    "rejudge": "a verdict that is asked for again is another",
}


def needs_of(
    has_journals: bool, n_regenerated: int, n_rejudged: int, with_tokenizers: bool
) -> dict[str, str]:
    """Return what the checks need that are not made, by name."""
    needs = {
        "prompts": with_tokenizers or "--tokenizer",
        "journals": has_journals or "journals",
        "regenerate": n_regenerated or "--regenerate",
        "rejudge": n_rejudged or "--rejudge",
    }
    return {name: need for name, need in needs.items() if isinstance(need, str)}


ROOTS = (*SWEEPS, "record_study", "describe_model", "train", "embed_turns")
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
