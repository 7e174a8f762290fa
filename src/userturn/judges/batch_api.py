"""The Batch API: many questions in one file, answered within a day at half the price.

Each step is noted beside the journal before the next one, so a job finds its batch again by the
noted id or by its file. An uploaded file counts as the most that it can cost until its replies are
read. Nothing is submitted twice, and no batch that was paid for is written off after one answer of
the API. If something is absent, the job looks again for minutes, and the batch then stays open.
"""

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import openai

from userturn.endpoints.api_keys import without_key
from userturn.endpoints.budget import cap_reached
from userturn.endpoints.usage import Spent, at_most
from userturn.errors import UserError
from userturn.judges.batch_files import (
    Batch,
    Line,
    batches_of,
    files_of,
    keys_collected,
    note,
    note_uploaded,
    uploaded,
)
from userturn.judges.batch_output import (
    BatchReply,
    UnreadError,
    ended,
    errors_of,
    readable,
    record_of_reply,
)
from userturn.judges.decisions import Decisions, Record, only_writer
from userturn.judges.question import Question
from userturn.judges.session import Session, repaired
from userturn.storage.journal import Writer

PATH = "/v1/chat/completions"
ROUNDS = 2  # all questions, then the repairs and what had no reply
UNUSABLE = 20  # with as many replies and none readable, no repair is paid for
FIRST_POLL, LONGEST_POLL = 1.0, 60.0  # seconds between two looks at a batch
N_LOOKS = 9  # looks for something absent, over three minutes
RETRIES = 6  # of requests that only read
# Errors of the API for a file from which it will never make a batch.
REFUSALS = (openai.BadRequestError, openai.NotFoundError, openai.UnprocessableEntityError)
QUEUE_IS_FULL = "token_limit_exceeded"

Asked = tuple[Session, Callable[[], Iterable[Question]]]
"""A session, and what makes its questions anew, one at a time."""


def pause(number: int) -> float:
    """Return the seconds to wait after a look at a batch, by the look's number from 0."""
    return min(LONGEST_POLL, FIRST_POLL * float(2 ** min(number, 30)))


class RefusedError(Exception):
    """A file from which the API will never make a batch."""


def ask_by_batch(asked: Sequence[Asked], n_rounds: int = ROUNDS) -> None:
    """Submit the questions that journals lack in batches, and then wait for all replies.

    Batches that an earlier job left open are waited for first, and those given up are looked at
    once. Each session is about another dataset, and its endpoint need not be open. Without a round
    (`n_rounds=0`) it only waits for the open batches.

    Raises:
        UserError: the API cannot be used or refuses a batch, replies that were paid for cannot be
            read, or the hard cap forbids another request.
    """
    with ExitStack() as stack:
        pools = [stack.enter_context(_opened(*one)) for one in asked]
        _collect(pools)
        for _ in range(n_rounds):
            left = [pool.session.decisions.unfinished() for pool in pools]
            while any(left):
                sent = [pool.submit(keys) for pool, keys in zip(pools, left, strict=True)]
                if not any(sent):
                    session = pools[0].session
                    raise cap_reached(session.about, session.account.cap, sum(map(len, left)))
                back = _collect(pools, sum(map(len, sent)))
                for pool, keys in zip(pools, sent, strict=True):
                    _check_usable(pool.session, keys)
                now = zip(left, sent, back, strict=True)
                left = [(keys - gone) | again for keys, gone, again in now]


def _collect(pools: Sequence["Batches"], n_sent: int = 0) -> list[set[str]]:
    """Wait for all open batches, and return the keys to send again after a full queue, by pool.

    Raises:
        UserError: a batch was refused, the queue had no room for any question that was sent, or
            replies cannot be read.
    """
    back = [pool.collect() for pool in pools]
    refused = [why for pool in pools for why in pool.refused]
    if (found := [why for pool in pools for why in pool.unread]) or refused:
        raise UserError("; ".join(found) or refused[0])
    if n_sent and sum(map(len, back)) >= n_sent:
        raise UserError(next(pool.queue for pool in pools if pool.queue))
    return back


@contextmanager
def _opened(session: Session, questions: Callable[[], Iterable[Question]]) -> Iterator["Batches"]:
    """Yield the batches of a session, while no other process asks about its dataset."""
    endpoint, key = session.endpoint, session.endpoint.key or "none"  # the client wants one
    transport = openai.DefaultHttpxClient(trust_env=not endpoint.is_here)
    client = openai.OpenAI(api_key=key, base_url=endpoint.url, max_retries=0, http_client=transport)
    reader = client.with_options(max_retries=RETRIES)
    with only_writer(session.decisions.folder), session.account, session.watched(), client:
        session.decisions.refresh()
        try:
            yield Batches(client, reader, session, questions)
        except (openai.OpenAIError, UnreadError) as error:
            text = without_key(f"{type(error).__name__}: {error}", endpoint.key)[:300]
            raise UserError(
                f"the Batch API cannot be used: {text}; run the same command again, nothing is "
                "submitted twice"
            ) from None


def _check_usable(session: Session, sent: set[str]) -> None:
    """Raise a `UserError` before paying for repairs if no first reply of many could be read."""
    reasons = [session.decisions.reason_of_first(key) for key in sorted(sent)]
    if len(reasons) >= UNUSABLE and None not in reasons:
        raise UserError(
            f"{session.about}: none of {len(reasons)} replies of a batch can be used; the "
            f"first: {reasons[0]}; correct the judge's entry and run the same command again"
        )


@dataclass
class Batches:
    """The batches of one judge and dataset.

    Attributes:
        client: client of the openai package, for submitting.
        reader: the same client with retries, for reading.
        session: the questions' session.
        questions: function that makes the questions anew.
        refused: why batches were refused, in sentences.
        unread: why replies that were paid for cannot be read, in sentences.
        queue: the error about a full queue, or an empty text.
    """

    client: Any
    reader: Any
    session: Session
    questions: Callable[[], Iterable[Question]]
    refused: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    queue: str = ""
    _pending: Spent = field(default_factory=Spent)  # of lines not uploaded yet
    _uploaded: set[str] = field(default_factory=set)  # files of this process

    def submit(self, wanted: Collection[str]) -> set[str]:
        """Upload the questions of some keys, make batches of them, and return the keys sent.

        First questions and repairs go into files of their own, each as large as the API takes. No
        more are sent than the cap allows.
        """
        left = set(wanted)
        for are_repairs in (False, True):
            for lines in files_of(self._lines(left, are_repairs)):
                self._upload(lines, are_repairs)
        return set(wanted) - left

    def _lines(self, left: set[str], are_repairs: bool) -> Iterator[Line]:
        """Yield the line of each question that is left and that the cap allows."""
        endpoint = self.session.endpoint
        for question in self.questions():
            reason = self.session.decisions.reason_of_first(question.key)
            if question.key not in left or (reason is not None) != are_repairs:
                continue
            asked = question if reason is None else repaired(question, reason)
            body = {**endpoint.fixed, "messages": list(asked.messages)}
            line = {"custom_id": question.key, "method": "POST", "url": PATH, "body": body}
            content = json.dumps(line).encode()
            most = at_most(len(content), endpoint.max_output)
            if not self.session.account.allows(self._pending + most):
                return
            self._pending += most
            left.discard(question.key)
            yield Line(question.key, content, most)

    def _upload(self, lines: Sequence[Line], are_repairs: bool) -> None:
        """Upload a file of questions, count them in the account, and make a batch of the file."""
        content = b"".join(line.content + b"\n" for line in lines)
        with readable("an uploaded file"):
            made = self.client.files.create(file=("questions.jsonl", content), purpose="batch")
            name = self._id_of(made)
        one = uploaded(name, lines, are_repairs)
        self._pending -= one.most
        self.session.account.add(one.most)
        note_uploaded(self.folder, one)
        self._uploaded.add(name)
        with suppress(RefusedError, openai.RateLimitError):  # tried again when it is collected
            self._create(one, 0)

    @property
    def folder(self) -> Path:
        """The folder of the judge's journal."""
        return self.session.decisions.folder

    def _create(self, one: Batch, n_looks: int) -> Batch:
        """Return a file with its batch, which is new unless one of some looks finds it listed."""
        batch = None
        for number in range(n_looks):
            if (batch := self._listed(one.file)) is not None:
                break
            time.sleep(pause(number))
        if batch is None:
            asked = {"input_file_id": one.file, "endpoint": PATH, "completion_window": "24h"}
            with readable("a batch"):
                try:
                    batch = self._id_of(self.client.batches.create(**asked))
                except REFUSALS as error:
                    raise RefusedError(f"{error}") from None
        one = replace(one, batch=batch)
        note(self.folder, "created", one)
        return one

    def _listed(self, file: str) -> str | None:
        """Return the id of the listed batch that was made of a file, or None."""
        with readable("the list of batches"):
            page = self.reader.batches.list(limit=100)
            if not isinstance(page.data, list):
                raise TypeError("no list")
            made = (batch for batch in page if batch.input_file_id == file)
            return next(map(self._id_of, made), None)

    def _id_of(self, made: Any) -> str:
        """Return the id of what the API made, checked since it is noted and could be an API key."""
        name = made.id
        if not isinstance(name, str) or not name or self.session.endpoint.redacted(name) != name:
            raise ValueError("no id that can be noted")
        return name

    def collect(self) -> set[str]:
        """Wait for open batches, journal their replies, and return keys that found no room."""
        self.queue, back = "", set[str]()
        for one in sorted(batches_of(self.folder), key=lambda one: one.batch is None):
            if one.because is None:
                back |= self._collect(one)
            elif one.batch is not None:
                with suppress(UnreadError, openai.OpenAIError):
                    state, replies = ended(self.reader, one, 1, pause)
                    self._put_into_journal(one, replies, state.status)
        self.session.decisions.refresh()
        return back

    def _collect(self, one: Batch) -> set[str]:
        """Wait for a batch, journal its replies, and return its keys if it found no room."""
        if not one.is_counted:  # not counted by the version that uploaded it
            self.session.account.add(one.most)
            note(self.folder, "counted", one)
        try:
            if one.batch is None:
                one = self._create(one, 1 if one.file in self._uploaded else N_LOOKS)
            state, replies = ended(self.reader, one, N_LOOKS, pause)
        except RefusedError as error:
            return self._refused(one, f"{error}")
        except UnreadError as error:
            self._put_into_journal(one, error.replies)
            self._leave_open(one, self.session.endpoint.redacted(f"{error}", 300))
            return set()
        if state.status == "failed" and not replies:
            return self._refused(one, errors_of(state))
        self._put_into_journal(one, replies, state.status)
        return set()

    def _refused(self, one: Batch, why: str) -> set[str]:
        """Close a batch that the API did not begin, and return its keys if it may be sent again."""
        note(self.folder, "collected", one)
        self.session.account.add(Spent() - one.most)
        said = (
            f"the API refused a batch: batch of {one.file}: "
            f"{self.session.endpoint.redacted(why, 300)}; correct what that names and run the same "
            "command again: the questions then go out in a new file"
        )
        if QUEUE_IS_FULL in why:
            self.queue = said
            return set(one.keys)
        self.refused.append(said)
        return set()

    def _leave_open(self, one: Batch, why: str) -> None:
        """Note why the replies of a batch cannot be read."""
        note(self.folder, "unread", one, reason=why)
        self.unread.append(
            f"{self.session.about}: batch {one.batch or one.file} may have been paid for, and its "
            f"replies cannot be read: {why}; it stays open and nothing is asked twice: run the "
            "same command again later, or give it up and pay again: `userturn costs --give-up "
            f'{one.batch or one.file} --because "..."`'
        )

    def _put_into_journal(
        self, one: Batch, replies: Mapping[str, BatchReply], ended_as: str | None = None
    ) -> None:
        """Append a record for each question of a batch that the journal does not have yet.

        A question without a reply is an error if the batch has ended for good, and stays counted at
        its largest size. A reply is journalled before its size replaces that, so that a kill in
        between does not lower a count twice.
        """
        batch, keys = str(one.batch), one.keys or tuple(replies)
        there, about = keys_collected(self.folder, batch), Decisions(self.folder, keys)
        with Writer(self.folder) as journal:
            for number, key in enumerate(keys):
                if key in there or (key not in replies and ended_as is None):
                    continue
                reason = f"batch {batch}, which is {ended_as}, has no reply to it"
                record: Record = {"key": key, "outcome": "error", "reason": reason}
                if (reply := replies.get(key)) is not None:
                    first = about.reason_of_first(key) if one.are_repairs else None
                    record, usage = record_of_reply(reply, self.session, first)
                if about.is_finished(key):
                    late = f"the reply of batch {batch} came after another"
                    record = {"key": key, "outcome": "error", "reason": late}
                journal.append(about.in_round(record) | {"of_batch": batch})
                if reply is not None:
                    self.session.account.replace(one.share(number), usage, len(reply.body))
                if record["outcome"] == "ok":
                    self.session.account.decided()
        if ended_as is not None:
            note(self.folder, "collected", one)
