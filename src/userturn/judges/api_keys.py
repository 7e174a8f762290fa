"""Keys of endpoints: read from the environment, and kept out of all that is written."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from userturn.errors import UserError


def read_key(name: str, settings: Mapping[str, Any]) -> str | None:
    """Return the key of a judge from the environment; None where its entry names no variable.

    Raises:
        UserError: the variable is not set.
    """
    variable = settings.get("key_variable")
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(
            f"judge '{name}' needs the environment variable {variable}, which is not set; export "
            "it, or leave the judge out of run.judges"
        )
    return key


def without_key(text: str, key: str | None) -> str:
    """Return a text in which the key, plain or as in a URL, is replaced."""
    if key is None:
        return text
    return text.replace(key, "[key]").replace(quote(key, safe=""), "[key]")
