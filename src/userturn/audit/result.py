"""The checks of an audit, and its result, told in the terminal, as JSON and as a page.

An artifact was compared, is a root, or was not compared for a reason. A root is an artifact that no
job can make again without a model or the people who made the study: the configuration, descriptions
of models, plans of requests, trainings. Other checks read the roots.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from html import escape
from pathlib import Path
from shlex import quote

import yaml

from userturn.audit.findings import (
    COMPARED,
    CONFIG,
    OTHER,
    ROOT,
    Finding,
    Note,
    Status,
    not_compared,
)
from userturn.config.entries import Config
from userturn.errors import UserError
from userturn.html.page import policy, read_page
from userturn.storage.files import write_text
from userturn.wording import number_of, show_unseen
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
    """Return what the skipped checks would need, by name of the check."""
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
    items: Iterable[object],
    excused: Mapping[str, str],
) -> list[Status]:
    """Return the status of every artifact that records claim or `excused` has, sorted by path.

    `excused` has the reasons why another version may explain an artifact's findings, by its path.
    """
    statuses = [item for item in items if isinstance(item, Status)]
    marks = {of.artifact: of for of in sorted(statuses, key=lambda of: of.state == OTHER)}
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
    """Return the paths of the artifacts that were not compared, by reason."""
    reasons_of: dict[str, list[str]] = {}
    for status in statuses:
        if status.state == OTHER:
            reasons_of.setdefault(status.why, []).append(status.artifact)
    return reasons_of


@dataclass(frozen=True)
class Audit:
    """The result of an audit, with findings and notes sorted.

    Attributes:
        n_artifacts: number of artifacts that records claim and that exist or were left out, plus
            those that only this version would make.
        digest: one hash of all artifacts and how they were made, equal for equal studies.
        records_digest: one hash of all records, with times, machines and journals.
        needs: what each check that was not made would need, by name of the check.
    """

    findings: list[Finding]
    notes: list[Note]
    n_artifacts: int
    digest: str
    records_digest: str
    times_and_commits: str = ""
    statuses: Sequence[Status] = ()
    needs: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_partial(self) -> bool:
        """Whether another copy, machine or version could compare what was not compared here."""
        return any(of.could_be for of in self.statuses)


def summary_of(audit: Audit) -> str:
    """Return the result of an audit in a few words."""
    counts = Counter(finding.check for finding in audit.findings)
    kinds = ", ".join(f"{n} {check}" for check, n in sorted(counts.items()))
    n = number_of(len(audit.findings), "finding")
    compared = f"; {counted(audit.statuses)}" if audit.statuses else ""
    return f"{n} ({kinds}){compared}" if kinds else f"no finding{compared}"


FINDING = tuple(field.name for field in fields(Finding))
NOTE = tuple(field.name for field in fields(Note))
# An option of a command; a browser would break its dashes off.
OPTION = re.compile(r"(?<![^\s`])--[a-z][a-z-]*")


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = ["".join(f"<td>{_html(text)}</td>" for text in row) for row in rows]
    lines = "".join(f"<tr>{cells}</tr>" for cells in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>" if body else ""


def _html(text: str) -> str:
    """Return a sentence as HTML, with text in backticks as code and options on one line."""
    whole = OPTION.sub(r'<span class="option">\g<0></span>', escape(show_unseen(text)))
    return re.sub("`([^`]+)`", r"<code>\1</code>", whole)


def audit_page(audit: Audit) -> str:
    """Return the HTML page of an audit, which has no script."""
    by_reason = reasons(audit.statuses).items()
    rows = [(f"{len(paths):,}", why, ", ".join(paths)) for why, paths in by_reason]
    not_compared = _table(("n", "why", "artifacts"), rows)
    n = Counter(item.check for item in audit.findings)
    needs = {name: f"not made: needs {what}" for name, what in audit.needs.items()}
    checks = [(name, says, needs.get(name, f"{n[name]} found")) for name, says in CHECKS.items()]
    page = read_page(
        "audit.html",
        verdict=summary_of(audit).capitalize(),
        summary=f"{number_of(audit.n_artifacts, 'artifact')}, digest {audit.digest}; "
        f"of the records, with times, machines and journals: {audit.records_digest}; "
        f"{escape(show_unseen(audit.times_and_commits))}",
        findings=_table(FINDING, map(astuple, audit.findings)),
        notes=_table(NOTE, map(astuple, audit.notes)),
        checks=_table(("check", "finds", "result"), checks),
        artifacts=f"<p>{counted(audit.statuses)}.</p>{_folder_table(audit)}{not_compared}",
    )
    return page.replace("{{policy}}", escape(policy(page)))


def _folder_table(audit: Audit) -> str:
    n = Counter((of.artifact.split("/")[1], of.state) for of in audit.statuses)
    states = (COMPARED, ROOT, OTHER)
    rows = [
        (name, *(f"{n[name, s]:,}" for s in states)) for name in sorted({name for name, _ in n})
    ]
    return _table(("folder", *states), rows)


def locate_config(audit: Audit, folder: Path) -> Audit:
    """Return an audit whose commands name the configuration file that is written to `folder`."""
    there = folder / Path(CONFIG).name
    here = quote(str(there if there == Path(CONFIG) else there.resolve()))
    findings = [replace(one, fix=one.fix.replace(CONFIG, here)) for one in audit.findings]
    return replace(audit, findings=findings)


def write_audit(audit: Audit, config: Config, folder: Path) -> None:
    """Write the JSON file and the page of an audit, and the configuration that its commands use.

    Raises:
        UserError: the folder cannot be written to.
    """
    texts = {
        "audit.json": json.dumps(asdict(audit), indent=1) + "\n",
        "audit.html": audit_page(audit),
        Path(CONFIG).name: yaml.safe_dump(dict(config), allow_unicode=True),
    }
    try:
        for name, text in texts.items():
            write_text(text, folder / name)
    except OSError as error:
        raise UserError(
            f"audit.json and audit.html could not be written to '{folder}' ({error.strerror}); "
            "name another folder with `--to`"
        ) from error


def format_audit(audit: Audit) -> str:
    """Return an audit as text: findings with fixes, notes, what was not compared, the result."""
    lines = [_finding(finding) for finding in audit.findings]
    lines += [_line(f"note: {note.artifact}: {note.text} ({note.check})") for note in audit.notes]
    for why, paths in reasons(audit.statuses).items():
        some = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
        lines.append(_line(f"not compared: {number_of(len(paths), 'artifact')} ({some}): {why}"))
    artifacts = number_of(audit.n_artifacts, "artifact")
    lines.append(f"{artifacts}, digest {audit.digest}: {summary_of(audit)}")
    lines.append(f"records, with times, machines and journals: digest {audit.records_digest}")
    return "\n".join(lines)


def _finding(finding: Finding) -> str:
    """Return a finding as lines, each unbroken, so that its command can be pasted."""
    expected, actual = (" ".join(text.split()) for text in (finding.expected, finding.found))
    lines = (
        f"{finding.check}: {finding.artifact}",
        f"  expected  {expected}",
        f"  found     {actual}",
        f"  fix       {finding.fix}",
    )
    return "\n".join(map(_line, lines))


def _line(text: str) -> str:
    """Return a text on one line, so that no file name can imitate a line of an audit."""
    return text.replace("\n", "\\n")
