"""Replies that a training has paid for: kept beside its checkpoints, so that none is paid twice.

A training that was killed draws its last steps again, and asks the same questions.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.storage.hashing import fingerprint
from userturn.storage.journal import Writer, files_of_journal, read_lines, record_of

Keep = Callable[[int, Any], None]  # a question's place, and its reply: None if there will be none
Ask = Callable[[Sequence[int], Keep], list[str]]
"""Asks the questions in some places, keeps each reply at once, and returns the errors."""


class KeptReplies:
    """The replies of one training, by what was asked."""

    def __init__(self, folder: Path) -> None:
        """Read the replies in a folder, which may not exist yet."""
        parts = (part for path in files_of_journal(folder) for part in read_lines(path))
        records = [record_of(line) for part in parts for line in part.whole]
        self._known: dict[str, Any] = {record["key"]: record["reply"] for record in records}
        self._journal = Writer(folder)

    def replies(self, what: str, questions: Sequence[Any], ask: Ask, share: float) -> list[Any]:
        """Return the reply to each question, of which those without one are asked.

        Equal questions at once have a reply each. A few errors are replies that are missing.

        Args:
            what: what is asked for.
            questions: whatever identifies each question, as JSON.
            ask: asks.
            share: the largest share of errors.

        Raises:
            UserError: all questions ended in errors, or more than that share and than one.
        """
        seen: Counter[str] = Counter()
        keys = []
        for question in questions:
            key = fingerprint([what, question])
            keys.append(f"{key}-{seen[key]}")
            seen[key] += 1
        missing = [place for place, key in enumerate(keys) if key not in self._known]
        errors = (
            ask(missing, lambda place, reply: self._keep(keys[place], reply)) if missing else []
        )
        n = len(questions)
        if errors and (len(errors) == n or len(errors) > max(1, share * n)):
            raise UserError(errors[0])
        for key in keys:
            if key not in self._known:
                self._keep(key, None)
        return [self._known[key] for key in keys]

    def _keep(self, key: str, reply: Any) -> None:
        self._known[key] = reply
        self._journal.append({"key": key, "reply": reply})
