"""An audit as a page that opens from a file."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from userturn.html.page import policy, read_page

if TYPE_CHECKING:
    from userturn.audit.audit import Audit

FINDING = ("check", "artifact", "expected", "found", "fix")
NOTE = ("check", "artifact", "text")


def _table(names: Sequence[str], rows: Sequence[object]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(getattr(row, name))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""


def audit_page(found: "Audit") -> str:
    """Return the page of an audit: one HTML text without any script."""
    n = len(found.findings)
    page = read_page(
        "audit.html",
        verdict="No finding" if n == 0 else f"{n} finding{'s' if n > 1 else ''}",
        summary=f"{found.n_artifacts} artifacts, digest {found.digest}",
        findings=_table(FINDING, found.findings),
        notes=_table(NOTE, found.notes),
    )
    return page.replace("{{policy}}", escape(policy(page)))
