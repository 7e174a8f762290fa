"""Family of a model: by its config line, else read from its name."""

import re

FAMILY = re.compile(r"(.+?)-\d")


def family(name: str) -> str:
    """Return the name up to the first `-` before a digit: qwen3.5 of qwen3.5-35b-a3b."""
    found = FAMILY.match(name)
    return found.group(1) if found else name
