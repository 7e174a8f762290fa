"""A judge's journal: one decision per question, whatever was tried before.

Of one key any decision stands before a reply that could not be read, and that before an error. A
line `void` takes back the one unscored line whose checksum it names, so that its question is asked
again. Replies that cannot be read carry the round in which they came, the number of lines that were
taken back before, so that a judge that says the same again writes another line. The order of the
files does not matter.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, cast

from userturn.storage.journal import BODY, checksum_of, files_of_journal, read_lines, record_of
from userturn.storage.locks import alone

Said = dict[str, Any]
Outcome = Literal["ok", "unscored", "unclear", "error", "void"]


class Record(TypedDict):
    """One line of a judge's journal.

    Attributes:
        key: of the question.
        outcome: `unclear` is a first reply that could not be read; `void` takes a line back.
        said: what the judge said, where the outcome is `ok`.
        reason: why it said nothing, in other outcomes.
        reply: what is kept of a reply that could not be read.
        round: in which such a reply came, where lines were taken back before.
        voids: checksum of the line that is taken back.
        of_batch: the batch whose output had the reply.
        model: that answered, where its name is not the one that was asked for.
    """

    key: str
    outcome: Outcome
    said: NotRequired[Said]
    reason: NotRequired[str]
    reply: NotRequired[str]
    round: NotRequired[int]
    voids: NotRequired[str]
    of_batch: NotRequired[str]
    model: NotRequired[str]


KEY_BEGINS = BODY + len('"key":"')
KEY_ENDS = KEY_BEGINS + 64
RANKS = {"ok": 1, "error": 0}  # which of two lines about a key counts


class Decision(NamedTuple):
    """What a journal has about one question.

    Attributes:
        outcome: `ok`, `unscored`, `error`, or `unclear` where only a first reply came.
        said: what the judge said, where the outcome is `ok`.
        reason: why not, where it is another.
    """

    outcome: str
    said: Said | None
    reason: str | None


def decision_of(record: Record) -> Decision:
    """Return what a journal's record says about its question."""
    return Decision(record["outcome"], record.get("said"), record.get("reason"))


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Let one process at a time ask for what a journal lacks, so that nothing is asked twice."""
    with alone(folder / "lock"):
        yield


class Decisions:
    """What a journal has about some keys; `refresh` reads what was added since.

    The key stands at one place in every line, so that lines about others are not even decoded.
    """

    def __init__(self, folder: Path, wanted: Iterable[str]) -> None:
        """Read what is there about the wanted keys."""
        self.folder = folder
        self._standing: dict[str, Decision | None] = dict.fromkeys(wanted)
        self._offsets: dict[Path, int] = {}
        self._unscored: dict[str, dict[str, Decision]] = {}
        self._first: dict[str, dict[int, Decision]] = {}
        self._voided: set[str] = set()
        self._rounds: Counter[str] = Counter()
        self.refresh()

    @property
    def wanted(self) -> Iterable[str]:
        """The keys that were wanted, each once."""
        return self._standing.keys()

    def refresh(self) -> None:
        """Read the lines that were added since the last time."""
        for path in files_of_journal(self.folder):
            for lines in read_lines(path, self._offsets.get(path, 0)):
                self._offsets[path] = lines.end
                for line in lines.whole:
                    if line[KEY_BEGINS:KEY_ENDS].decode(errors="replace") in self._standing:
                        self._take(cast(Record, record_of(line)), checksum_of(line))

    def _take(self, record: Record, checksum: str) -> None:
        key, outcome = record["key"], record["outcome"]
        if outcome == "void":
            self._rounds[key] += record["voids"] not in self._voided
            self._voided.add(record["voids"])
            return
        decision = decision_of(record)
        if outcome == "unscored":
            self._unscored.setdefault(key, {})[checksum] = decision
            return
        if outcome == "unclear":
            self._first.setdefault(key, {})[record.get("round", 0)] = decision
            return
        there = self._standing.get(key)
        if there is None or RANKS[outcome] > RANKS[there.outcome]:
            self._standing[key] = decision

    def get(self, key: str) -> Decision | None:
        """Return what counts for a key, or None."""
        found = self._standing.get(key)
        lines = self._unscored.get(key, {})
        if found is not None and found.outcome == "ok":
            return found
        standing = [lines[checksum] for checksum in lines if checksum not in self._voided]
        first = self._first.get(key, {}).get(self._rounds[key])
        return standing[-1] if standing else first or found

    def reason_of_first(self, key: str) -> str | None:
        """Return why a first reply could not be read, where nothing came after it; else None."""
        found = self.get(key)
        return found.reason or "" if found is not None and found.outcome == "unclear" else None

    def in_round(self, record: Record) -> Record:
        """Return a record with the round in which it came, where that is not the first."""
        number = self._rounds[record["key"]]
        is_open = record["outcome"] in ("unclear", "unscored")
        return record | {"round": number} if is_open and number else record

    def is_finished(self, key: str) -> bool:
        """Return whether a question need not be asked any more."""
        found = self.get(key)
        return found is not None and found.outcome in ("ok", "unscored")
