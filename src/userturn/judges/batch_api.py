"""The Batch API: many questions in one file, answered within a day at half the price.

Each step is noted beside the journal before the next one: the uploaded file, the batch made from
it, and that its replies are in the journal. After a kill, the job finds its batch again by the
noted id or by its file. Nothing is submitted twice and no reply is counted twice.
"""

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import openai

from userturn.endpoints.http_errors import error_in, why_unscored
from userturn.endpoints.response_body import Received, without_surrogates
from userturn.endpoints.usage import Spent, at_most
from userturn.judges.batch_file import PATH, BatchFile, line_of
from userturn.judges.batch_notes import BatchNotes, OpenBatch
from userturn.judges.chat_endpoint import ChatEndpoint
from userturn.judges.decide import Read, left_open, record_of
from userturn.judges.decisions import Decisions, Record
from userturn.judges.parse_reply import read_reply
from userturn.judges.question import Question
from userturn.judges.session import Session
from userturn.logs import say
from userturn.storage.journal import Writer, decode_line

KEY = re.compile(r"[0-9a-f]{64}")


class BatchReply(NamedTuple):
    """One reply of a batch.

    Attributes:
        key: key of the question.
        status: HTTP status of the response, 0 without one.
        body: body of the response.
        text: the API's message if the status is not 200.
    """

    key: str
    status: int
    body: bytes
    text: str


def _read_line(line: bytes) -> BatchReply | None:
    try:
        parsed: Any = json.loads(line)
        key, response = parsed["custom_id"], parsed.get("response") or {}
        status, body = response.get("status_code", 0), response.get("body")
        text = json.dumps(parsed.get("error") or body)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(key, str) or not KEY.fullmatch(key) or not isinstance(status, int):
        return None
    return BatchReply(key, status, json.dumps(body).encode(), text)


def read_lines(contents: Iterable[bytes]) -> tuple[list[BatchReply], int]:
    """Return the replies in a batch's output files, and the number of unreadable lines."""
    lines = [line for content in contents for line in content.splitlines() if line.strip()]
    found = [reply for line in lines if (reply := _read_line(line)) is not None]
    return found, len(lines) - len(found)


def record_of_reply(
    reply: BatchReply, endpoint: ChatEndpoint, read: Read, first_reason: str | None
) -> tuple[Record, Mapping[str, Any] | None]:
    """Return the journal's record of a reply and its usage, None if nothing was billed.

    Args:
        reply: one reply of a batch.
        endpoint: the endpoint, whose key is kept out of the record.
        read: parses the reply.
        first_reason: why the first reply could not be read, if this one answers a repair.
    """
    received = Received(reply.body)
    parsed, usage = read_reply(received)
    is_good = 200 <= reply.status < 300
    found = error_in(received) if is_good else (reply.status, reply.text)
    if found is not None:
        what = "an error in a reply" if is_good else f"status {found[0]}"
        text = endpoint.redacted(f"batch: {what}: {without_surrogates(found[1])}", 300)
        why = why_unscored(found[1])
        about = {"key": reply.key, "outcome": "error", "reason": text}
        if why is not None:
            about = {"key": reply.key, "outcome": "unscored", "reason": why, "reply": text}
        return cast(Record, about), usage if is_good else None
    record = record_of(reply.key, parsed, read, endpoint)
    if first_reason is not None and record["outcome"] != "ok":
        record = left_open(record, first_reason)
    return record, usage


def keys_collected(journal: Path, batch: str) -> set[str]:
    """Return the keys of the questions whose replies from a batch are in a journal."""
    name = batch.encode()
    keys = set()
    for path in sorted(journal.glob("[!.]*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                record = decode_line(line) if name in line else None
                if record is not None and record.get("of_batch") == batch:
                    keys.add(str(record["key"]))
    return keys


FIRST_POLL, LONGEST_POLL = 1.0, 60.0  # seconds between two looks at a batch
RETRIES = 6  # of requests that only read
ENDED = ("completed", "failed", "expired", "cancelled", "canceled")
RUNNING = ("validating", "in_progress", "finalizing", "cancelling")
WAITING = ("queued", "pending", "processing")  # of servers like OpenAI's
MOST_UNKNOWN = 5  # looks in a row at a status of no name
# What the API says to a file that it makes no batch of, now or ever.
REFUSALS = (openai.BadRequestError, openai.NotFoundError, openai.UnprocessableEntityError)
QUEUE_IS_FULL = "token_limit_exceeded"


class Refusal(NamedTuple):
    """A batch that the API did not begin.

    Attributes:
        keys: of its questions.
        why: in the API's words, without the key.
        is_full: whether it may be begun once others have ended.
    """

    keys: tuple[str, ...]
    why: str
    is_full: bool


@dataclass
class Batches:
    """The batches of one judge and dataset.

    Attributes:
        client: client of the openai package, for submitting.
        reader: the same client with retries, for reading.
        session: the job's session; its endpoint says what a request looks like.
        notes: notes on the steps of all batches.
        questions: makes all questions anew, one at a time.
    """

    client: Any
    reader: Any
    session: Session
    notes: BatchNotes
    questions: Callable[[], Iterable[Question]]

    def submit(self, wanted: Collection[str]) -> set[str]:
        """Upload the questions of some keys and make batches of them; return the keys sent.

        First questions and repairs go into files of their own, each as large as the API takes. Only
        as many are sent as the cap allows.
        """
        left, sent = set(wanted), set[str]()
        for are_repairs in (False, True):
            file = BatchFile()
            for question in self.questions():
                reason = self.session.decisions.reason_of_first(question.key)
                if question.key not in left or (reason is not None) != are_repairs:
                    continue
                line = line_of(question, reason, self.session.endpoint.fixed)
                if file.is_full(line):
                    sent |= self.upload(file, are_repairs)
                    file = BatchFile()
                more = at_most(len(line), self.session.endpoint.max_output)
                if not self.session.account.allows(file.most + more):
                    break
                left.discard(question.key)
                file.add(question.key, line, more)
            sent |= self.upload(file, are_repairs)
        return sent

    def upload(self, file: BatchFile, are_repairs: bool) -> set[str]:
        """Upload a file, if anything is in it, and make it a batch; return its keys."""
        if not file.keys:
            return set()
        content = ("questions.jsonl", b"\n".join(file.lines) + b"\n")
        with _readable("an uploaded file"):
            name = self.id_of(self.client.files.create(file=content, purpose="batch"))
        self.session.account.reserve(file.most)
        largest = max(map(len, file.lines))
        made = OpenBatch(name, None, are_repairs, file.most, largest, tuple(file.keys))
        self.notes.uploaded(made)
        with suppress(*REFUSALS, openai.RateLimitError):  # tried again when it is collected
            self.create(name)
        return set(file.keys)

    def create(self, file: str) -> str:
        """Return the id of an uploaded file's batch: an existing one, else a new one."""
        with _readable("the list of batches"):
            page = self.reader.batches.list(limit=100)
            if not isinstance(page.data, list):
                raise TypeError("no list")
            made = [batch for batch in page if batch.input_file_id == file]
        with _readable("a batch"):
            if not made:
                asked = {"input_file_id": file, "endpoint": PATH, "completion_window": "24h"}
                made = [self.client.batches.create(**asked)]
            batch = self.id_of(made[0])
        self.notes.created(file, batch)
        return batch

    def id_of(self, made: Any) -> str:
        """Return the id of what the API has made; it is written down, so it may not be a key."""
        name = made.id
        if not isinstance(name, str) or not name or self.session.endpoint.redacted(name) != name:
            raise ValueError("no id that can be noted")
        return name

    def wait(self, batch: str) -> Any:
        """Wait for a batch to end and return its state; None if the API does not know it."""
        wait, n_unknown = FIRST_POLL, 0
        try:
            while (status := (state := self.look(batch)).status) not in ENDED:
                n_unknown = 0 if status in RUNNING + WAITING else n_unknown + 1
                if n_unknown == MOST_UNKNOWN:
                    raise openai.OpenAIError(f"the state of {batch} is {status!r} for ever")
                say(f"batch {batch}: {status}, looking again in {wait:.0f} s")
                time.sleep(wait)
                wait = min(LONGEST_POLL, wait * 2)
        except openai.NotFoundError:
            return None
        return state

    def look(self, batch: str) -> Any:
        """Return the state of a batch."""
        with _readable(f"the state of {batch}"):
            state = self.reader.batches.retrieve(batch)
            state.status, state.output_file_id, state.error_file_id, state.errors  # noqa: B018
        return state

    def collect_open(self) -> list[Refusal]:
        """Wait for every batch that is open, put its replies into the journal; return refusals."""
        found = sorted(self.notes.open(), key=lambda one: one.batch is None)
        return [refusal for one in found if (refusal := self.collect(one)) is not None]

    def collect(self, one: OpenBatch) -> Refusal | None:
        """Wait for a batch and put its replies into the journal; return its refusal, if any."""
        refusal, batch = None, one.batch
        try:
            batch = batch or self.create(one.file)
        except REFUSALS as error:
            refusal = self.refusal(one, f"{error}")
        else:
            state = self.wait(batch)
            if state is not None and state.status == "failed" and not state.output_file_id:
                refusal = self.refusal(one, _errors(state))
            else:
                self.put_into_journal(one, batch, state)
        self.notes.collected(one.file, batch or "")
        self.session.account.reserve(Spent() - one.most)
        self.session.decisions.refresh()
        return refusal

    def refusal(self, one: OpenBatch, why: str) -> Refusal:
        """Return the refusal of a batch."""
        shown = self.session.endpoint.redacted(why, 300)
        return Refusal(one.keys, f"batch of {one.file}: {shown}", QUEUE_IS_FULL in why)

    def put_into_journal(self, one: OpenBatch, batch: str, state: Any) -> None:
        """Append a record for each question of a batch that the journal does not hold yet.

        A question without a reply that can be read is an error, and counted as large as it can be.
        """
        replies, n_bad = read_lines(self.outputs(state))
        there = keys_collected(self.session.decisions.folder, batch)
        keys = one.keys or tuple(reply.key for reply in replies)
        about = Decisions(self.session.decisions.folder, keys)
        most = at_most(one.largest, self.session.endpoint.max_output)
        by_key = {reply.key: reply for reply in reversed(replies)}  # the first of two counts
        account, status = self.session.account, "gone" if state is None else state.status
        with Writer(self.session.decisions.folder) as journal:
            for key in (key for key in dict.fromkeys(keys) if key not in there):
                first = about.reason_of_first(key) if one.are_repairs else None
                reason = f"batch {batch}, which is {status}, has no reply to it"
                record: Record = {"key": key, "outcome": "error", "reason": reason}
                usage: Mapping[str, Any] | None = {}
                n_bytes = 0
                if (reply := by_key.get(key)) is not None:
                    endpoint, n_bytes = self.session.endpoint, len(reply.body)
                    record, usage = record_of_reply(reply, endpoint, self.session.read, first)
                account.bill(most, usage, n_bytes)
                if record["outcome"] == "ok":
                    account.decided()
                journal.append(about.in_round(record) | {"of_batch": batch})
        for _ in range(0 if one.keys else one.most.n_requests - len(keys)):
            account.bill(most, {})  # a note without keys
        if n_bad:
            say(f"batch {batch}: {n_bad} lines cannot be read; their questions are asked again")

    def outputs(self, state: Any) -> list[bytes]:
        """Return the contents of a batch's output; a file that the API has no more is left out."""
        names = [] if state is None else [state.output_file_id, state.error_file_id]
        found = []
        for name in filter(None, names):
            with suppress(openai.NotFoundError):
                found.append(self.output(name))
        return found

    def output(self, name: str) -> bytes:
        """Return a file of a batch's output; one without any line of it is read again."""
        for wait in (FIRST_POLL, 2 * FIRST_POLL, 0):
            content: bytes = self.reader.files.content(name).content
            if not content.strip() or read_lines([content])[0]:
                break
            time.sleep(wait)
        return content


@contextmanager
def _readable(what: str) -> Iterator[None]:
    """Raise the client's own error where a reply has status 200 and is not what it should be."""
    try:
        yield
    except (ValueError, AttributeError, TypeError, LookupError) as error:
        text = f"{type(error).__name__}: {error}"
        raise openai.OpenAIError(f"what it says of {what} cannot be read ({text})") from None


def _errors(state: Any) -> str:
    """Return the API's reasons for refusing a batch."""
    found = getattr(getattr(state, "errors", None), "data", None) or []
    told = [f"{error.message} ({error.code})" for error in found]
    return "; ".join(told) or "the API gives no reason"
