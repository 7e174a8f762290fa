"""Write an audit: as text for the terminal, as JSON, and as a page."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, fields, replace
from html import escape
from pathlib import Path
from shlex import quote

import yaml

from userturn.audit.audit import CHECKS, Audit, counted, reasons, verdict_of
from userturn.audit.findings import COMPARED, CONFIG, OTHER, ROOT, Finding, Note
from userturn.config.entries import Config
from userturn.errors import UserError
from userturn.html.page import policy, read_page
from userturn.storage.files import write_text
from userturn.wording import number_of, show_unseen

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
        findings=_table(FINDING, map(astuple, found.findings)),
        notes=_table(NOTE, map(astuple, found.notes)),
        checks=_checklist(found),
        artifacts=f"<p>{counted(found.statuses)}.</p>{_by_folder(found)}{_not_compared(found)}",
    )
    return page.replace("{{policy}}", escape(policy(page)))


def _not_compared(found: Audit) -> str:
    by_reason = reasons(found.statuses).items()
    rows = [(f"{len(paths):,}", why, ", ".join(paths)) for why, paths in by_reason]
    return _table(("n", "why", "artifacts"), rows)


def _by_folder(found: Audit) -> str:
    """Return how many artifacts in each folder were compared."""
    n = Counter((of.artifact.split("/")[1], of.state) for of in found.statuses)
    states = (COMPARED, ROOT, OTHER)
    rows = [
        (name, *(f"{n[name, s]:,}" for s in states)) for name in sorted({name for name, _ in n})
    ]
    return _table(("folder", *states), rows)


def _checklist(found: Audit) -> str:
    """Return every check, and what it found or needs."""
    n = Counter(item.check for item in found.findings)
    needs = {name: f"not made: needs {what}" for name, what in found.needs.items()}
    rows = [(name, says, needs.get(name, f"{n[name]} found")) for name, says in CHECKS.items()]
    return _table(("check", "finds", "result"), rows)


SHOWN = 3  # artifacts that a line names


def with_config_in(found: Audit, folder: Path) -> Audit:
    """Return an audit whose commands name the configuration file in another folder."""
    there = folder / Path(CONFIG).name
    here = quote(str(there if there == Path(CONFIG) else there.resolve()))
    findings = [replace(one, fix=one.fix.replace(CONFIG, here)) for one in found.findings]
    return replace(found, findings=findings)


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
