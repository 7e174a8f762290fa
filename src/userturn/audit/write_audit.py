"""Write an audit: as text for the terminal, as JSON, and as a page."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote

import yaml

from userturn.audit.audit import OTHER_VERSION, Audit, verdict_of
from userturn.audit.audit_page import audit_page
from userturn.audit.checklist import reasons
from userturn.audit.findings import CONFIG, Finding
from userturn.config.entries import Config
from userturn.errors import UserError
from userturn.plural import number_of
from userturn.storage.atomic_files import write_text

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
