"""The error of a configuration that cannot be run, and the nearest known name."""

from collections.abc import Iterable
from difflib import get_close_matches

from userturn.errors import UserError


class ConfigError(UserError):
    """A configuration that cannot be run."""

    stays = True


def near_miss(name: str, known: Iterable[str]) -> str:
    """Return ", did you mean 'x'?" for the known name most like `name`, else the known names."""
    known = sorted(known)
    match = get_close_matches(name, known, n=1, cutoff=0.6)
    if match:
        return f", did you mean '{match[0]}'?"
    return f"; expected one of: {', '.join(known)}" if known else ""
