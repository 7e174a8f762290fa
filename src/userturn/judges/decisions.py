"""A judge's journal: one decision per question, whatever was tried before.

For each key, a decision takes precedence over an unreadable reply, and an unreadable reply over an
error. A line `void` cancels the one unscored line whose checksum it names, so that its question is
asked again. Unreadable replies carry their round, the number of lines cancelled before, so that an
equal reply in a later round is a different line. The order of the files does not matter.

Names of judge and dataset are not in a question's key, only in the path of the journal. So
decisions under names that the study no longer has are taken over, not asked again. If two judges or
datasets of equal content stand side by side, each is a measurement of its own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, cast, get_args

from userturn.errors import UserError
from userturn.judges.judge import Judge
from userturn.logs import say
from userturn.storage.files import alone, is_locked
from userturn.storage.journal import (
    BODY,
    Writer,
    checksum_of,
    files_of_journal,
    read_lines,
    record_of,
)
from userturn.wording import number_of

Content = dict[str, Any]
Outcome = Literal["ok", "unscored", "unclear", "error", "void"]
OUTCOMES = get_args(Outcome)


class Record(TypedDict):
    """One line of a judge's journal. Fields are in alphabetical order, so `key` is the first."""

    key: str
    outcome: Outcome  # `unclear` is an unreadable first reply; `void` cancels a line
    said: NotRequired[Content]  # what the judge said, if the outcome is `ok`
    reason: NotRequired[str]  # why there is no decision, for other outcomes
    reply: NotRequired[str]  # the beginning of an unreadable reply
    round: NotRequired[int]  # the round of an unreadable reply, if lines were cancelled before
    voids: NotRequired[str]  # checksum of the cancelled line
    of_batch: NotRequired[str]  # the batch whose output had the reply
    model: NotRequired[str]  # the model that answered, if it is not the requested one
    taken_from: NotRequired[str]  # former names of judge and dataset, as in j/d


KEY_BEGINS = BODY + len('"key":"')
KEY_ENDS = KEY_BEGINS + 64
RANKS = {"ok": 1, "error": 0}  # of two lines about a key, the higher rank counts


class Decision(NamedTuple):
    """The outcome of one question in a journal."""

    outcome: str  # `ok`, `unscored`, `error`, or `unclear` if only a first reply came
    content: Content | None
    reason: str | None  # why there is no decision, for other outcomes


def decision_of(record: Record) -> Decision:
    """Return the decision in a journal's record.

    Raises:
        UserError: no judge's job writes such a record.
    """
    outcome, has_content = record["outcome"], "said" in record
    if outcome not in OUTCOMES or has_content != (outcome == "ok"):
        raise UserError(
            f"a judge's journal has the outcome '{outcome}' {'with' if has_content else 'without'} "
            f"a verdict about question {record['key'][:12]}, which no judge's job writes; restore "
            "the journal from a copy"
        )
    return Decision(record["outcome"], record.get("said"), record.get("reason"))


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Let only one process at a time ask for a journal, so that nothing is asked twice."""
    lock = folder / "lock"
    if is_locked(lock):
        judge, dataset = folder.parts[-2:]
        say(f"judge {judge}: waiting for another job that asks about '{dataset}'")
    with alone(lock):
        yield


class Decisions:
    """A journal's decisions on some keys, to which `refresh` adds new lines.

    The key has a fixed place in every line, so lines about other keys are not even decoded.
    """

    def __init__(self, folder: Path, keys: Iterable[str]) -> None:
        """Read the decisions on some keys."""
        self.folder = folder
        self._standing: dict[str, Decision | None] = dict.fromkeys(keys)
        self._offsets: dict[Path, int] = {}
        self._unscored: dict[str, dict[str, Decision]] = {}
        self._first: dict[str, dict[int, Decision]] = {}
        self._voided: set[str] = set()
        self._rounds: Counter[str] = Counter()
        self.refresh()

    @property
    def keys(self) -> Iterable[str]:
        """The keys that were asked for, each once."""
        return self._standing.keys()

    def refresh(self) -> None:
        """Read the lines that were added since the last reading."""
        for path in files_of_journal(self.folder):
            for lines in read_lines(path, self._offsets.get(path, 0)):
                self._offsets[path] = lines.end
                for line in lines.whole:
                    if line[KEY_BEGINS:KEY_ENDS].decode(errors="replace") in self._standing:
                        self._take(cast("Record", record_of(line)), checksum_of(line))

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
        """Return the decision on a key, or None."""
        decision = self._standing.get(key)
        lines = self._unscored.get(key, {})
        if decision is not None and decision.outcome == "ok":
            return decision
        standing = [lines[checksum] for checksum in lines if checksum not in self._voided]
        first = self._first.get(key, {}).get(self._rounds[key])
        return standing[-1] if standing else first or decision

    def reason_of_first(self, key: str) -> str | None:
        """Return why the first reply could not be read, or None if it could or a later one came."""
        decision = self.get(key)
        if decision is None or decision.outcome != "unclear":
            return None
        return decision.reason or ""

    def add_round(self, record: Record) -> Record:
        """Return a record with its round, which is left out for the first round."""
        number = self._rounds[record["key"]]
        is_open = record["outcome"] in ("unclear", "unscored")
        return record | {"round": number} if is_open and number else record

    def is_open(self, key: str) -> bool:
        """Return whether a question has no final decision, not even a cancelled one."""
        return not self.is_finished(key) and not self._rounds[key]

    def is_finished(self, key: str) -> bool:
        """Return whether a question has a final decision."""
        decision = self.get(key)
        return decision is not None and decision.outcome in ("ok", "unscored")

    def unfinished(self) -> set[str]:
        """Return the keys of the questions without a final decision."""
        return {key for key in self.keys if not self.is_finished(key)}


def _former_journals(judge: Judge, dataset: str) -> Iterator[Path]:
    """Yield the folders of journals whose judge or dataset the study no longer has."""
    own = judge.journal(dataset)
    others = {*judge.names} - {judge.name}
    for folder in sorted(own.parent.parent.glob("[!.]*/[!.]*")):
        is_of_judge = folder.parent.name == judge.name
        is_current = judge.datasets is None or folder.name in judge.datasets
        is_of_dataset = folder.name == own.name or not is_current
        if folder != own and is_of_dataset and (is_of_judge or folder.parent.name not in others):
            yield folder


def former_decisions(judge: Judge, dataset: str, own: Decisions) -> list[Record]:
    """Return the final decisions under former names that the judge's own journal lacks."""
    lacking = {key for key in own.keys if own.is_open(key)}
    records: list[Record] = []
    for folder in _former_journals(judge, dataset) if lacking else ():
        decisions = Decisions(folder, lacking)
        finished = set(filter(decisions.is_finished, lacking))
        records += _final(folder, decisions, finished)
        lacking -= finished
    return records


def _final(folder: Path, decisions: Decisions, finished: set[str]) -> Iterator[Record]:
    waiting = set(finished)
    for path in files_of_journal(folder) if finished else ():
        for lines in read_lines(path):
            for line in lines.whole:
                record = cast("Record", record_of(line))
                key = record["key"]
                is_line = key in waiting and record["outcome"] != "void"
                if is_line and decision_of(record) == decisions.get(key):
                    waiting.discard(key)
                    record.pop("of_batch", None)  # the batch belongs to the former journal
                    yield record | {"taken_from": f"{folder.parent.name}/{folder.name}"}


def open_decisions(judge: Judge, dataset: str, keys: Iterable[str]) -> Decisions:
    """Return a journal's decisions on some keys, after adding those under former names to it."""
    own = Decisions(judge.journal(dataset), keys)
    records = former_decisions(judge, dataset, own)
    if records:
        n = number_of(len(records), "decision")
        say(f"judge {judge.name}: {n} on '{dataset}' taken over from a former name")
        with Writer(own.folder) as journal:
            for record in records:
                journal.append(record)
        own.refresh()
    return own
