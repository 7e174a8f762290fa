"""Write an audit: as text for the terminal, as JSON, and as a page."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from html import escape
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import yaml

from userturn.audit.audit import OTHER_VERSION, Audit, verdict_of
from userturn.audit.checklist import counted, reasons
from userturn.audit.checks import CHECKS
from userturn.audit.findings import CONFIG, Finding
from userturn.config.entries import Config
from userturn.errors import UserError
from userturn.html.page import policy, read_page
from userturn.plural import number_of
from userturn.storage.atomic_files import write_text
from userturn.unseen import show_unseen

FINDING = ("check", "artifact", "expected", "found", "fix")
NOTE = ("check", "artifact", "text")
OPTION = re.compile(
    r"(?<![^\s`])--[a-z][a-z-]*"
)  # of a command; a browser would break its dashes off


def _table(names: Sequence[str], rows: Sequence[object]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_html(getattr(row, name))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""


def _html(text: str) -> str:
    """Return a sentence as HTML, with what stands between backticks as code, options unbroken."""
    whole = OPTION.sub(r'<span class="option">\g<0></span>', escape(show_unseen(text)))
    return re.sub("`([^`]+)`", r"<code>\1</code>", whole)


def audit_page(found: Audit) -> str:
    """Return the page of an audit: one HTML text without any script."""
    page = read_page(
        "audit.html",
        verdict=verdict_of(found).capitalize(),
        summary=f"{number_of(found.n_artifacts, 'artifact')}, digest {found.digest}; "
        f"of the records, with times, machines and journals: {found.records_digest}; "
        f"{escape(show_unseen(found.made))}",
        findings=_table(FINDING, found.findings),
        others=_of_another_version(found),
        notes=_table(NOTE, found.notes),
        checks=_checklist(found),
        artifacts=f"<p>{counted(found.statuses)}.</p>{_not_compared(found)}",
    )
    return page.replace("{{policy}}", escape(policy(page)))


def _of_another_version(found: Audit) -> str:
    if not found.of_another_version:
        return ""
    return f"<p>{escape(OTHER_VERSION)}</p>{_table(FINDING, found.of_another_version)}"


class _Reason(NamedTuple):
    """Artifacts that were not compared for one reason; its attributes are columns."""

    n: str
    why: str
    artifacts: str


def _not_compared(found: Audit) -> str:
    by_reason = reasons(found.statuses).items()
    lines = [_Reason(_number(len(paths)), why, ", ".join(paths)) for why, paths in by_reason]
    return _table(_Reason._fields, lines)


class _Line(NamedTuple):
    """A line of the checklist; its attributes are its columns."""

    check: str
    finds: str
    files: str
    result: str


def _checklist(found: Audit) -> str:
    """Return every check with the number of files of its kind, and what it found."""
    counts = Counter(item.check for item in (*found.findings, *found.of_another_version))
    lines = []
    for name, check in CHECKS.items():
        n = found.n_looked_at.get(name)
        nothing = "nothing found" if n else "nothing to look at"
        result = f"{counts[name]} found" if counts[name] else nothing
        missing = f"not made: needs {check.needs}"
        lines.append(_Line(name, check.finds, _number(n), missing if n is None else result))
    return _table(_Line._fields, lines)


def _number(n: int | None) -> str:
    return "" if n is None else f"{n:,}"


SHOWN = 3  # artifacts that a line names


def with_config_in(found: Audit, folder: Path) -> Audit:
    """Return an audit whose commands name the configuration file in another folder."""
    there = folder / Path(CONFIG).name
    here = quote(str(there if there == Path(CONFIG) else there.resolve()))
    findings, others = (
        [replace(finding, fix=finding.fix.replace(CONFIG, here)) for finding in listed]
        for listed in (found.findings, found.of_another_version)
    )
    return replace(found, findings=findings, of_another_version=others)


def write_audit(found: Audit, config: Config, folder: Path) -> None:
    """Write an audit as JSON and as a page, and the configuration that its commands use.

    Raises:
        UserError: the folder cannot be written to.
    """
    texts = {
        "audit.json": json.dumps(asdict(found), indent=1) + "\n",
        "audit.html": audit_page(found),
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


def format_audit(found: Audit) -> str:
    """Return an audit as text: findings with commands to paste, then notes, then the result."""
    lines = [_finding(finding) for finding in found.findings]
    if found.of_another_version:
        lines += [*map(_finding, found.of_another_version), OTHER_VERSION]
    lines += [_line(f"note: {note.artifact}: {note.text} ({note.check})") for note in found.notes]
    lines += [
        _line(f"not compared: {number_of(len(paths), 'artifact')} ({_some(paths)}): {why}")
        for why, paths in reasons(found.statuses).items()
    ]
    artifacts = number_of(found.n_artifacts, "artifact")
    lines.append(f"{artifacts}, digest {found.digest}: {verdict_of(found)}")
    lines.append(f"records, with times, machines and journals: digest {found.records_digest}")
    return "\n".join(lines)


def _finding(finding: Finding) -> str:
    """Return a finding as lines; its command is on one line, however long, to be pasted."""
    expected, found = (" ".join(text.split()) for text in (finding.expected, finding.found))
    lines = (
        f"{finding.check}: {finding.artifact}",
        f"  expected  {expected}",
        f"  found     {found}",
        f"  fix       {finding.fix}",
    )
    return "\n".join(map(_line, lines))


def _some(paths: Sequence[str]) -> str:
    """Return the first of some paths."""
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return ", ".join(paths[:SHOWN]) + more


def _line(text: str) -> str:
    """Return a text on one line, so that no file's name looks like a line of an audit."""
    return text.replace("\n", "\\n")
