"""The Batch API: many questions in one file, answered within a day at half the price.

Each step is noted beside the journal before the next one, so a job finds its batch again by the
noted id or by its file. An uploaded file counts as the most that it can cost until its replies are
read. Nothing is submitted twice, and no batch that was paid for is written off after one answer of
the API. If something is absent, the job looks again for minutes, and the batch then stays open.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import openai

from userturn.endpoints.api_keys import remove_key
from userturn.endpoints.budget import cap_reached
from userturn.endpoints.usage import Spent, largest_request
from userturn.errors import UserError
from userturn.judges.batch_files import (
    Batch,
    Line,
    batches_of,
    files_of,
    keys_collected,
    note,
    note_uploaded,
)
from userturn.judges.batch_output import (
    RefusedError,
    Replies,
    RunningError,
    UnreadError,
    id_of,
    read_output,
    read_questions,
    readable,
    record_of_reply,
)
from userturn.judges.decisions import Decisions, Record, only_writer
from userturn.judges.question import Question
from userturn.judges.session import Session, repaired
from userturn.logs import say
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
"""A session, and a function that yields its questions, each time anew."""


def pause(number: int) -> float:
    """Return the seconds to wait after a look at a batch, by the look's number from 0."""
    return min(LONGEST_POLL, FIRST_POLL * float(2 ** min(number, 30)))


def ask_by_batch(asked: Sequence[Asked], n_rounds: int = ROUNDS) -> None:
    """Submit, in batches, the questions that journals lack, and then wait for all replies.

    Batches that an earlier job left open are waited for first, and those given up are looked at
    once. Each session is about another dataset, and its endpoint need not be open. Without a round
    (`n_rounds=0`) it only waits for the open batches.

    Raises:
        UserError: the API cannot be used or refuses a batch, replies that were paid for cannot be
            read or used, or the hard cap or a full queue leaves no room for a question.
    """
    with ExitStack() as stack:
        pools = [stack.enter_context(_opened(*one)) for one in asked]
        problems = [problem for pool in pools for problem in pool.collect()]
        while not problems and any(left := [pool.unfinished(n_rounds) for pool in pools]):
            sent = [pool.submit(keys) for pool, keys in zip(pools, left, strict=True)]
            if not any(sent):
                session = pools[0].session
                raise cap_reached(session.about, session.account.cap, sum(map(len, left)))
            problems = [problem for pool in pools for problem in pool.collect()]
            if left == [pool.unfinished(n_rounds) for pool in pools]:
                problems += [pool.queue for pool in pools if pool.queue][:1]
        if problems:
            raise UserError("; ".join(problems))


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
            text = remove_key(f"{type(error).__name__}: {error}", endpoint.key)[:300]
            raise UserError(
                f"the Batch API cannot be used: {text}; run the same command again, nothing is "
                "submitted twice"
            ) from None


@dataclass
class Batches:
    """The batches of one judge and dataset.

    Attributes:
        client: client of the openai package, for submitting.
        reader: the same client with retries, for reading.
        session: the questions' session.
        questions: function that makes the questions anew.
        queue: the API's error about a full queue, or an empty text.
    """

    client: Any
    reader: Any
    session: Session
    questions: Callable[[], Iterable[Question]]
    queue: str = ""
    _n_ended: Counter[str] = field(default_factory=Counter)  # of each key, replies and errors
    _pending: Spent = field(default_factory=Spent)  # of lines not uploaded yet

    @property
    def folder(self) -> Path:
        """The folder of the judge's journal."""
        return self.session.decisions.folder

    def unfinished(self, n_rounds: int) -> set[str]:
        """Return the keys of the questions to submit: undecided, not yet sent `n_rounds` times."""
        keys = self.session.decisions.unfinished()
        return {key for key in keys if self._n_ended[key] < n_rounds}

    def submit(self, keys: Iterable[str]) -> bool:
        """Upload questions, make batches of them, and return whether any went.

        First questions and repairs go into files of their own, each as large as the API takes. No
        more are sent than the cap allows.
        """
        left = set(keys)
        n_before = len(left)
        for are_repairs in (False, True):
            for lines in files_of(self._lines(left, are_repairs)):
                self._upload(lines, are_repairs)
        return len(left) < n_before

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
            most = largest_request(len(content), endpoint.max_output)
            if not self.session.account.reserve(self._pending + most):
                return
            self._pending += most
            left.discard(question.key)
            yield Line(question.key, content)

    def _upload(self, lines: Sequence[Line], are_repairs: bool) -> None:
        """Upload a file of questions, count them in the account, and make a batch of the file."""
        keys, contents = zip(*lines, strict=True)
        content = b"".join(line + b"\n" for line in contents)
        with readable("an uploaded file"):
            file = self.client.files.create(file=("questions.jsonl", content), purpose="batch")
            name = id_of(file, self.session.endpoint)
        one = Batch(
            name, keys, tuple(map(len, contents)), self.session.endpoint.max_output, are_repairs
        )
        self._pending -= one.most
        self._count(one)
        with suppress(RefusedError, openai.RateLimitError):  # tried again when it is collected
            self._create(one)

    def _count(self, one: Batch) -> None:
        """Count the questions of an uploaded file in the account, and note the file."""
        self.session.account.add(one.most)
        note_uploaded(self.folder, one)

    def _create(self, one: Batch) -> Batch:
        """Make a batch of an uploaded file, and return the file with its batch."""
        with readable("a batch"):
            try:
                created = self.client.batches.create(
                    input_file_id=one.file, endpoint=PATH, completion_window="24h"
                )
            except REFUSALS as error:
                raise RefusedError(f"{error}") from None
            return self._noted(one, created)

    def _listed(self, one: Batch) -> Batch | None:
        """Look for a file's batch in the API's list for minutes, and return both, or None."""
        for number in range(N_LOOKS):
            with readable("the list of batches"):
                page = self.reader.batches.list(limit=100)
                if not isinstance(page.data, list):
                    raise TypeError("no list")
                for batch in page:
                    if batch.input_file_id == one.file:
                        return self._noted(one, batch)
            time.sleep(pause(number))
        return None

    def _noted(self, one: Batch, batch: Any) -> Batch:
        """Note the batch of an uploaded file, and return the file with its batch."""
        one = replace(one, batch=id_of(batch, self.session.endpoint))
        note(self.folder, "created", one)
        return one

    def collect(self) -> list[str]:
        """Journal the replies of open batches, after a wait, and of those given up, after one look.

        Return why the run stops, in sentences.
        """
        self.queue, problems = "", list[str]()
        for one in sorted(batches_of(self.folder), key=lambda one: one.batch is None):
            if one.because is None:
                problems.append(self._collect(one))
                continue
            with suppress(UnreadError, openai.OpenAIError):  # a later job looks again
                one = self._complete(one)
                if one.batch is not None:
                    try:
                        self._put_into_journal(one, *read_output(self.reader, one, True))
                    except RefusedError:
                        self._forget(one)
        self.session.decisions.refresh()
        return [problem for problem in (*problems, self._why_unusable()) if problem]

    def _complete(self, one: Batch) -> Batch:
        """Return a counted batch with its questions. Early versions noted and counted none."""
        try:
            one = one if one.keys else read_questions(self.reader, one, self.session)
        finally:
            if one.sizes and not one.is_counted:
                self._count(one)
        return one

    def _forget(self, one: Batch) -> None:
        """Note that nothing will come of a batch, and count it no more."""
        note(self.folder, "collected", one)
        self.session.account.add(Spent() - one.most)

    def _collect(self, one: Batch) -> str:
        """Wait for an open batch, journal its replies, and return why the run stops, or nothing."""
        redacted = self.session.endpoint.redacted
        try:
            one = self._complete(one)
            if one.batch is None:
                one = self._listed(one) or self._create(one)
            self._put_into_journal(one, *self._ended(one))
        except RefusedError as error:
            self._forget(one)
            problem = (
                f"the API refused a batch: batch of {one.file}: {redacted(str(error), 300)}; "
                "correct what that names and run the same command again: the questions then go out "
                "in a new file"
            )
            if QUEUE_IS_FULL not in str(error):
                return problem
            self.queue = problem  # sent again, once other batches have ended
        except UnreadError as error:
            self._put_into_journal(one, None, error.replies)
            why = redacted(str(error), 300)
            note(self.folder, "unread", one, reason=why)
            return (
                f"{self.session.about}: batch {one.name} may have been paid for, and its replies "
                f"cannot be read: {why}; it stays open and nothing is asked twice: run the same "
                "command again later, or give it up and pay again: `userturn costs --give-up "
                f'{one.name} --because "..."`'
            )
        return ""

    def _why_unusable(self) -> str:
        """Return why no repair is paid for, if no first reply of many could be read, or nothing."""
        reasons = [self.session.decisions.reason_of_first(key) for key in sorted(self._n_ended)]
        if len(reasons) < UNUSABLE or None in reasons:
            return ""
        return (
            f"{self.session.about}: none of {len(reasons)} replies of a batch can be used; the "
            f"first: {reasons[0]}; correct the judge's entry and run the same command again"
        )

    def _ended(self, one: Batch) -> tuple[str, Replies]:
        """Wait for a batch to end, and return its state and its replies.

        Raises:
            UnreadError: many looks in a row failed.
            RefusedError: the API did not begin the batch.
        """
        n_failed, number = 0, 0
        while True:
            try:
                return read_output(self.reader, one, n_failed + 1 >= N_LOOKS)
            except UnreadError as error:
                n_failed = 0 if isinstance(error, RunningError) else n_failed + 1
                if n_failed >= N_LOOKS:
                    raise
                say(f"batch {one.batch}: {error}, looking again in {pause(number):.0f} s")
            time.sleep(pause(number))
            number += 1

    def _put_into_journal(self, one: Batch, ended_as: str | None, replies: Replies) -> None:
        """Append a record for each question of a batch that the journal does not have yet.

        A question without a reply is an error if the batch has ended for good, and stays counted at
        its largest size. A reply is journalled before its size replaces that, so that a kill in
        between does not lower a count twice.
        """
        there, about = keys_collected(self.folder, one.name), Decisions(self.folder, one.keys)
        with Writer(self.folder) as journal:
            for number, key in enumerate(one.keys):
                reply = replies.get(key)
                if key in there or (reply is None and ended_as is None):
                    continue
                reason = f"batch {one.batch}, which is {ended_as}, has no reply to it"
                record: Record = {"key": key, "outcome": "error", "reason": reason}
                usage = None
                if reply is not None:
                    first = about.reason_of_first(key) if one.are_repairs else None
                    record, usage = record_of_reply(reply, self.session, first)
                if about.is_finished(key):
                    late = f"the reply of batch {one.batch} came after another"
                    record = {"key": key, "outcome": "error", "reason": late}
                journal.append(about.add_round(record) | {"of_batch": one.name})
                self._n_ended[key] += 1
                if reply is not None:
                    self.session.account.replace(one.share(number), usage, len(reply.body))
                if record["outcome"] == "ok":
                    self.session.account.decided()
        if ended_as is not None:
            note(self.folder, "collected", one)
