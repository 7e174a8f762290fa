"""A file of questions for the Batch API, as large as the API takes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from userturn.endpoints.usage import Spent
from userturn.judges.decide import repaired
from userturn.judges.question import Question

LARGEST_BATCH = 50_000  # questions, as many as the API takes
LARGEST_FILE = 190_000_000  # bytes; the API takes 200 MB
PATH = "/v1/chat/completions"


def line_of(question: Question, first_reason: str | None, fixed: Mapping[str, Any]) -> bytes:
    """Return a file's line for a question.

    Args:
        question: to be asked.
        first_reason: why its first reply could not be read, for a repair; else None.
        fixed: the body of every request, without its messages.
    """
    asked = question if first_reason is None else repaired(question, first_reason)
    body = {**fixed, "messages": list(asked.messages)}
    return json.dumps(
        {"custom_id": question.key, "method": "POST", "url": PATH, "body": body}
    ).encode()


@dataclass
class BatchFile:
    """A file in the making.

    Attributes:
        keys: of its questions.
        lines: one for each question.
        most: what all of them together may cost.
    """

    keys: list[str] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    most: Spent = field(default_factory=Spent)
    _n_bytes: int = 0

    def is_full(self, line: bytes) -> bool:
        """Tell whether one more line would make it larger than the API takes."""
        is_long = self._n_bytes + len(line) + 1 > LARGEST_FILE
        return bool(self.lines) and (is_long or len(self.lines) >= LARGEST_BATCH)

    def add(self, key: str, line: bytes, most: Spent) -> None:
        """Add the line of a question that may cost so much."""
        self.keys.append(key)
        self.lines.append(line)
        self.most += most
        self._n_bytes += len(line) + 1
