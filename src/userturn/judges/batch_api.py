"""The Batch API: many questions in one file, answered within a day at half the price.

Each step is noted beside the journal before the next one: the uploaded file, the batch made from
it, and that its replies are in the journal. After a kill, the job finds its batch again by the
noted id or by its file. Nothing is submitted twice and no reply is counted twice.
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import openai

from userturn.endpoints.api_keys import without_key
from userturn.endpoints.budget import cap_reached
from userturn.endpoints.http_replies import Received, error_in, why_unscored, without_surrogates
from userturn.endpoints.usage import Spent, at_most
from userturn.errors import UserError
from userturn.judges.batch_files import (
    BatchFile,
    BatchNotes,
    BatchReply,
    OpenBatch,
    keys_collected,
    read_lines,
)
from userturn.judges.decisions import Decisions, Record, only_writer
from userturn.judges.parse_reply import read_reply
from userturn.judges.question import Question
from userturn.judges.session import Session, left_open, record_of, repaired
from userturn.logs import say
from userturn.storage.journal import Writer

PATH = "/v1/chat/completions"
ROUNDS = 2  # all questions, then the repairs and what had no reply
UNUSABLE = 20  # replies, and none that can be read: no repair is paid for
FIRST_POLL, LONGEST_POLL = 1.0, 60.0  # seconds between two looks at a batch
RETRIES = 6  # of requests that only read
ENDED = ("completed", "failed", "expired", "cancelled", "canceled")
RUNNING = ("validating", "in_progress", "finalizing", "cancelling")
WAITING = ("queued", "pending", "processing")  # of servers like OpenAI's
MOST_UNKNOWN = 5  # looks in a row at a status of no name
# What the API says to a file that it makes no batch of, now or ever.
REFUSALS = (openai.BadRequestError, openai.NotFoundError, openai.UnprocessableEntityError)
QUEUE_IS_FULL = "token_limit_exceeded"

Asked = tuple[Session, Callable[[], Iterable[Question]]]
"""A session, and what makes its questions anew, one at a time."""


def ask_by_batch(asked: Sequence[Asked], n_rounds: int = ROUNDS) -> None:
    """Ask for what journals lack, everything out first, and wait for the replies.

    Batches that an earlier job left open are waited for first.

    Each session is about another dataset, and its endpoint need not be open. With no round, it only
    waits for the open batches.

    Raises:
        UserError: the API cannot be used or refuses a batch, no reply can be read, or the hard cap
            forbids another request.
    """
    with ExitStack() as stack:
        pools = [stack.enter_context(_opened(*one)) for one in asked]
        for pool in pools:
            pool.session.decisions.refresh()
            for one in pool.notes.open():
                pool.session.account.reserve(one.most)
        _raise_refused(chain(*[pool.collect_open() for pool in pools]), False)
        for _ in range(n_rounds):
            _ask_round(pools)


@contextmanager
def _opened(session: Session, questions: Callable[[], Iterable[Question]]) -> Iterator["Batches"]:
    """Yield the batches of a session; no other process asks about its dataset meanwhile."""
    endpoint, folder = session.endpoint, session.decisions.folder
    key = endpoint.key or "none"  # the client wants one
    transport = openai.DefaultHttpxClient(trust_env=not endpoint.is_here)
    client = openai.OpenAI(api_key=key, base_url=endpoint.url, max_retries=0, http_client=transport)
    reader = client.with_options(max_retries=RETRIES)
    with only_writer(folder), session.account, session.watched(), client:
        try:
            yield Batches(client, reader, session, BatchNotes(folder), questions)
        except openai.OpenAIError as error:
            text = without_key(f"{type(error).__name__}: {error}", endpoint.key)[:300]
            raise UserError(
                f"the Batch API cannot be used: {text}; run the same command again, nothing is "
                "submitted twice"
            ) from None


def _ask_round(pools: Sequence["Batches"]) -> None:
    """Send what is not decided, wait for all of it, and send again what found a full queue."""
    left = [pool.session.decisions.unfinished() for pool in pools]
    while any(left):
        sent = [pool.submit(keys) for pool, keys in zip(pools, left, strict=True)]
        if not any(sent):
            session = pools[0].session
            raise cap_reached(session.about, session.account.cap, sum(map(len, left)))
        refused = [pool.collect_open() for pool in pools]
        back = [{key for refusal in of_pool for key in refusal.keys} for of_pool in refused]
        was_any_answered = sum(map(len, back)) < sum(map(len, sent))
        _raise_refused(chain(*refused), was_any_answered)
        for pool, keys in zip(pools, sent, strict=True):
            _check_usable(pool.session, keys)
        left = [(keys - gone) | again for keys, gone, again in zip(left, sent, back, strict=True)]


class Refusal(NamedTuple):
    """A batch that the API did not begin; one that found the queue `is_full` may be sent again."""

    keys: tuple[str, ...]
    why: str
    is_full: bool


def _raise_refused(refused: Iterable[Refusal], was_any_answered: bool) -> None:
    """Refuse to go on after a refusal that no wait will mend."""
    for refusal in refused:
        if not (refusal.is_full and was_any_answered):
            raise UserError(
                f"the API refused a batch: {refusal.why}; correct what that names and run the same "
                "command again: the questions then go out in a new file"
            )


def _check_usable(session: Session, sent: set[str]) -> None:
    """Refuse to pay for repairs where no reply to a first question could be read."""
    reasons = [session.decisions.reason_of_first(key) for key in sorted(sent)]
    if len(reasons) >= UNUSABLE and None not in reasons:
        raise UserError(
            f"{session.about}: none of {len(reasons)} replies of a batch can be used; the "
            f"first: {reasons[0]}; correct the judge's entry and run the same command again"
        )


@dataclass
class Batches:
    """The batches of one judge and dataset."""

    client: Any  # of the openai package, for submitting
    reader: Any  # the same with retries, for reading
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
                line = self._line_of(question, reason)
                if file.is_full(line):
                    sent |= self._upload(file, are_repairs)
                    file = BatchFile()
                more = at_most(len(line), self.session.endpoint.max_output)
                if not self.session.account.allows(file.most + more):
                    break
                left.discard(question.key)
                file.add(question.key, line, more)
            sent |= self._upload(file, are_repairs)
        return sent

    def _line_of(self, question: Question, first_reason: str | None) -> bytes:
        """Return a file's line for a question, or for its repair if there is a reason for one."""
        asked = question if first_reason is None else repaired(question, first_reason)
        body = {**self.session.endpoint.fixed, "messages": list(asked.messages)}
        line = {"custom_id": question.key, "method": "POST", "url": PATH, "body": body}
        return json.dumps(line).encode()

    def _upload(self, file: BatchFile, are_repairs: bool) -> set[str]:
        """Upload a file, if anything is in it, and make it a batch; return its keys."""
        if not file.keys:
            return set()
        content = ("questions.jsonl", b"\n".join(file.lines) + b"\n")
        with _readable("an uploaded file"):
            name = self._id_of(self.client.files.create(file=content, purpose="batch"))
        self.session.account.reserve(file.most)
        sizes = file.most, max(map(len, file.lines))
        self.notes.uploaded(OpenBatch(name, None, are_repairs, *sizes, tuple(file.keys)))
        with suppress(*REFUSALS, openai.RateLimitError):  # tried again when it is collected
            self._create(name)
        return set(file.keys)

    def _create(self, file: str) -> str:
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
            batch = self._id_of(made[0])
        self.notes.created(file, batch)
        return batch

    def _id_of(self, made: Any) -> str:
        """Return the id of what the API has made; it is written down, so it may not be a key."""
        name = made.id
        if not isinstance(name, str) or not name or self.session.endpoint.redacted(name) != name:
            raise ValueError("no id that can be noted")
        return name

    def collect_open(self) -> list[Refusal]:
        """Wait for every batch that is open, put its replies into the journal; return refusals."""
        found = sorted(self.notes.open(), key=lambda one: one.batch is None)
        return [refusal for one in found if (refusal := self._collect(one)) is not None]

    def _collect(self, one: OpenBatch) -> Refusal | None:
        """Wait for a batch and put its replies into the journal; return its refusal, if any."""
        batch, why = one.batch, None
        try:
            batch = batch or self._create(one.file)
        except REFUSALS as error:
            why = f"{error}"
        else:
            state = self._wait(batch)
            if state is not None and state.status == "failed" and not state.output_file_id:
                why = _errors(state)
            else:
                self._put_into_journal(one, batch, state)
        self.notes.collected(one.file, batch or "")
        self.session.account.reserve(Spent() - one.most)
        self.session.decisions.refresh()
        if why is None:
            return None
        shown = self.session.endpoint.redacted(why, 300)
        return Refusal(one.keys, f"batch of {one.file}: {shown}", QUEUE_IS_FULL in why)

    def _wait(self, batch: str) -> Any:
        """Wait for a batch to end and return its state; None if the API does not know it."""
        wait, n_unknown = FIRST_POLL, 0
        while True:
            try:
                with _readable(f"the state of {batch}"):
                    state = self.reader.batches.retrieve(batch)
                    status, *_ = state.status, state.output_file_id, state.error_file_id
            except openai.NotFoundError:
                return None
            if status in ENDED:
                return state
            n_unknown = 0 if status in RUNNING + WAITING else n_unknown + 1
            if n_unknown == MOST_UNKNOWN:
                raise openai.OpenAIError(f"the state of {batch} is {status!r} for ever")
            say(f"batch {batch}: {status}, looking again in {wait:.0f} s")
            time.sleep(wait)
            wait = min(LONGEST_POLL, wait * 2)

    def _put_into_journal(self, one: OpenBatch, batch: str, state: Any) -> None:
        """Append a record for each question of a batch that the journal does not hold yet.

        A question without a reply that can be read is an error, and counted as large as it can be.
        """
        replies, n_bad = read_lines(self._outputs(state))
        folder, account = self.session.decisions.folder, self.session.account
        there = keys_collected(folder, batch)
        keys = one.keys or tuple(reply.key for reply in replies)
        about = Decisions(folder, keys)
        most = at_most(one.largest, self.session.endpoint.max_output)
        by_key = {reply.key: reply for reply in reversed(replies)}  # the first of two counts
        status = "gone" if state is None else state.status
        with Writer(folder) as journal:
            for key in (key for key in dict.fromkeys(keys) if key not in there):
                reason = f"batch {batch}, which is {status}, has no reply to it"
                record: Record = {"key": key, "outcome": "error", "reason": reason}
                usage: Mapping[str, Any] | None = {}
                if (reply := by_key.get(key)) is not None:
                    first = about.reason_of_first(key) if one.are_repairs else None
                    record, usage = record_of_reply(reply, self.session, first)
                account.bill(most, usage, len(reply.body) if reply else 0)
                if record["outcome"] == "ok":
                    account.decided()
                journal.append(about.in_round(record) | {"of_batch": batch})
        for _ in range(0 if one.keys else one.most.n_requests - len(keys)):
            account.bill(most, {})  # a note without keys
        if n_bad:
            say(f"batch {batch}: {n_bad} lines cannot be read; their questions are asked again")

    def _outputs(self, state: Any) -> Iterator[bytes]:
        """Yield the contents of a batch's output; a file that the API has no more is left out."""
        names = () if state is None else (state.output_file_id, state.error_file_id)
        for name in filter(None, names):
            with suppress(openai.NotFoundError):
                yield self._output(name)

    def _output(self, name: str) -> bytes:
        """Return a file of a batch's output; one without any line of it is read again."""
        for wait in (FIRST_POLL, 2 * FIRST_POLL, 0):
            content: bytes = self.reader.files.content(name).content
            if not content.strip() or read_lines([content])[0]:
                break
            time.sleep(wait)
        return content


def record_of_reply(
    reply: BatchReply, session: Session, first_reason: str | None
) -> tuple[Record, Mapping[str, Any] | None]:
    """Return the journal's record of a reply and its usage, None if nothing was billed.

    `first_reason` says why the first reply could not be read, if this one answers a repair.
    """
    received, is_good = Received(reply.body), 200 <= reply.status < 300
    parsed, usage = read_reply(received)
    found = error_in(received) if is_good else (reply.status, reply.text)
    record: Record
    if found is not None:
        what = "an error in a reply" if is_good else f"status {found[0]}"
        text = session.endpoint.redacted(f"batch: {what}: {without_surrogates(found[1])}", 300)
        record = {"key": reply.key, "outcome": "error", "reason": text}
        if (why := why_unscored(found[1])) is not None:
            record = {"key": reply.key, "outcome": "unscored", "reason": why, "reply": text}
        return record, usage if is_good else None
    record = record_of(reply.key, parsed, session.read, session.endpoint)
    if first_reason is not None and record["outcome"] != "ok":
        record = left_open(record, first_reason)
    return record, usage


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
    return "; ".join(f"{e.message} ({e.code})" for e in found) or "the API gives no reason"
