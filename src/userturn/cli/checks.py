"""What commands say of checks: what would fail first, and how many passed."""

from collections.abc import Sequence

from userturn.cli.terminal import BAD, Part, prose
from userturn.slurm.scheduler import CheckResult
from userturn.wording import number_of


def told(findings: Sequence[CheckResult], names_passed: bool) -> list[Part]:
    """Return a line per failed check, and the passed checks by name or only counted."""
    bad = [prose(f"FAIL {one.what}: {one.trouble}", BAD) for one in findings if one.trouble]
    good = [one.what for one in findings if not one.trouble]
    named = [f"ok   {what}" for what in good] if names_passed else []
    ended = f", {len(bad)} would fail" if bad else ""
    return [*bad, *named, f"{number_of(len(good), 'check')} passed{ended}"]
