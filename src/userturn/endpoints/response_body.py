"""Read the body of a response: its JSON if it is any, and a text that can be written."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

SURROGATE = re.compile("[\\ud800-\\udfff]")


def without_surrogates(text: str) -> str:
    """Return a text that can be written as UTF-8: half a character becomes U+FFFD."""
    return SURROGATE.sub("\ufffd", text)


@dataclass(frozen=True)
class Received:
    """The body of a response; each reading of it is made once, when it is first asked for."""

    content: bytes

    @cached_property
    def parsed(self) -> Any:
        """Its JSON; None if it is none."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def text(self) -> str:
        """Its text, which can be written whatever it holds."""
        return without_surrogates(self.content.decode(errors="replace"))
