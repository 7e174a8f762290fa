"""Tell from its name whether the model that answered is the one that was requested."""

import re

# What a provider adds to a name: a folder or vendor before it; after it the date or number of the
# current snapshot, or the service tier.
_BEFORE = re.compile(r".*/")
_AFTER = re.compile(
    r"(?:[-@]20\d\d-?\d\d-?\d\d|-\d{3,4}|-\d\d-\d\d(?:-\d{4})?|-v\d+|[-@]latest|-preview"
    r"|:[a-z]+)+$"
)


def _plain(name: str) -> str:
    """Return a model's name without vendor, snapshot and tier."""
    return _AFTER.sub("", _BEFORE.sub("", name.strip().lower()))


def is_other_model(asked: str, answered: str) -> bool:
    """Tell whether two names belong to different models.

    A dated or latest snapshot of the requested name, and a name with or without its vendor, are the
    same model: `gpt-5.4-mini` and `openai/gpt-5.4-mini-2026-03-17`. Two different dates are not.
    """
    if _BEFORE.sub("", asked.lower()) == _BEFORE.sub("", answered.lower()):
        return False
    if _plain(asked) != _plain(answered):
        return True
    snapshots = [
        found[0] for name in (asked, answered) if (found := re.search(r"\d{3,}[\d-]*$", name))
    ]
    return len(set(snapshots)) == 2
