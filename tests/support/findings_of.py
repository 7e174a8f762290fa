"""What an audit's check says, without the marks of what it compared."""

from collections.abc import Iterable

from userturn.audit.findings import COMPARED, Finding, Item, Status


def said_of(items: Iterable[Item]) -> list[Item]:
    """Return everything but the artifacts that were compared."""
    return [item for item in items if item != Status(item.artifact, COMPARED)]


def findings_of(items: Iterable[Item]) -> list[Finding]:
    """Return the findings."""
    return [item for item in items if isinstance(item, Finding)]
