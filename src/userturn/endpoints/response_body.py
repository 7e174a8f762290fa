"""Read the body of a response: its JSON if it is any, and a text that can be written."""

import json
import re
from typing import Any

SURROGATE = re.compile("[\\ud800-\\udfff]")


def without_surrogates(text: str) -> str:
    """Return a text that can be written as UTF-8: half a character becomes U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


def read_parts(body: bytes) -> tuple[Any, str]:
    """Return a body's JSON, None if it is none, and the body as text."""
    raw = without_surrogates(body.decode(errors="replace"))
    try:
        return json.loads(body), raw
    except (ValueError, RecursionError):
        return None, raw
