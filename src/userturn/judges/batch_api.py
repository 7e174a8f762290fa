"""The Batch API: many questions in one file, answered within a day at half the price.

Each step is noted beside the journal before the next one: the uploaded file, the batch made from
it, and that its replies are in the journal. After a kill, the job finds its batch again by the
noted id or by its file. Nothing is submitted twice and no reply is counted twice.
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from userturn.errors import UserError
from userturn.judges.api_keys import without_key
from userturn.judges.batch_notes import BatchNotes, OpenBatch
from userturn.judges.batch_replies import keys_collected, read_lines, record_of_reply
from userturn.judges.budget import CapReachedError, cap_reached
from userturn.judges.decide import repaired
from userturn.judges.decisions import Decisions, only_writer
from userturn.judges.question import Question
from userturn.judges.session import Session
from userturn.judges.usage import Spent, at_most
from userturn.logs import say
from userturn.storage.journal import Writer

LARGEST_BATCH = 20_000  # questions; the API takes 50,000
LARGEST_FILE = 190_000_000  # bytes; the API takes 200 MB
FIRST_POLL, LONGEST_POLL = 1.0, 60.0  # seconds between two looks at a batch
RETRIES = 6  # of requests that only read
ENDED = ("completed", "failed", "expired", "cancelled")
ROUNDS = 2  # all questions, then the repairs
PATH = "/v1/chat/completions"


@dataclass
class Batches:
    """The batches of one judge and dataset.

    Attributes:
        client: client of the openai package, for submitting.
        reader: the same client with retries, for reading.
        session: the job's session; its endpoint says what a request looks like.
        notes: notes on the steps of all batches.
    """

    client: Any
    reader: Any
    session: Session
    notes: BatchNotes

    def line(self, question: Question) -> bytes:
        """Return a file's line for a question, or for its repair if it has a first reply."""
        reason = self.session.decisions.reason_of_first(question.key)
        asked = question if reason is None else repaired(question, reason)
        body = {**self.session.endpoint.fixed, "messages": list(asked.messages)}
        request = {"custom_id": question.key, "method": "POST", "url": PATH, "body": body}
        return json.dumps(request).encode()

    def submit(self, questions: Iterable[Question], are_repairs: bool) -> int:
        """Upload as many questions as cap and API allow, make them a batch, return their number.

        Raises:
            CapReachedError: the cap allows no question.
        """
        lines: list[bytes] = []
        most = Spent()
        for question in questions:
            line = self.line(question)
            more = most + at_most(len(line), self.session.endpoint.max_output)
            if not self.session.account.allows(more) or more.input_tokens > LARGEST_FILE:
                break
            most = more
            lines.append(line)
        if not lines:
            raise CapReachedError
        content = ("questions.jsonl", b"\n".join(lines) + b"\n")
        file = self.client.files.create(file=content, purpose="batch").id
        self.session.account.reserve(most)
        made = OpenBatch(file, None, are_repairs, most, max(map(len, lines)))
        self.notes.uploaded(made)
        self.create(file)
        return len(lines)

    def create(self, file: str) -> str:
        """Return the id of an uploaded file's batch: an existing one, else a new one."""
        made = self.reader.batches.list(limit=100)
        batch = next((b.id for b in made if b.input_file_id == file), None)
        if batch is None:
            batch = self.client.batches.create(
                input_file_id=file, endpoint=PATH, completion_window="24h"
            ).id
        self.notes.created(file, batch)
        return str(batch)

    def wait(self, batch: str) -> Any:
        """Wait for a batch to end and return its state; None if the API does not know it."""
        import openai

        wait = FIRST_POLL
        try:
            while (state := self.reader.batches.retrieve(batch)).status not in ENDED:
                say(f"batch {batch}: {state.status}, looking again in {wait:.0f} s")
                time.sleep(wait)
                wait = min(LONGEST_POLL, wait * 2)
        except openai.NotFoundError:
            return None
        return state

    def collect(self, one: OpenBatch) -> None:
        """Wait for a batch and put its replies into the journal.

        Raises:
            UserError: the API refused the batch; no later run waits for it.
        """
        batch = one.batch or self.create(one.file)
        state = self.wait(batch)
        if state is None:
            say(
                f"batch {batch} is gone; its largest possible cost is counted, and its questions "
                "are asked again"
            )
            self.session.account.bill(one.most, {})
        else:
            self.put_into_journal(one, batch, state)
        self.notes.collected(one.file, batch)
        self.session.account.reserve(Spent() - one.most)
        self.session.decisions.refresh()
        if state is not None and state.status == "failed":
            why = self.session.endpoint.redacted(_errors(state), 300)
            raise UserError(
                f"the batch {batch} was refused: {why}; "
                "correct that and run the same command again: the questions then go out in a new "
                "file"
            )

    def put_into_journal(self, one: OpenBatch, batch: str, state: Any) -> None:
        """Append a record for each reply of a batch that is not yet in the journal."""
        outputs = filter(None, (state.output_file_id, state.error_file_id))
        contents = [self.reader.files.content(output).content for output in outputs]
        replies, n_bad = read_lines(contents)
        there = keys_collected(self.session.decisions.folder, batch)
        about = Decisions(self.session.decisions.folder, [reply.key for reply in replies])
        most = at_most(one.largest, self.session.endpoint.max_output)
        with Writer(self.session.decisions.folder) as journal:
            for reply in (reply for reply in replies if reply.key not in there):
                first = about.reason_of_first(reply.key) if one.are_repairs else None
                record, usage = record_of_reply(
                    reply, self.session.endpoint, self.session.read, first
                )
                self.session.account.bill(most, usage, len(reply.body))
                if record["outcome"] == "ok":
                    self.session.account.decided()
                journal.append(about.in_round(record) | {"of_batch": batch})
        if n_bad:
            say(f"batch {batch}: {n_bad} lines cannot be read; their questions are asked again")
        for _ in range(n_bad):
            self.session.account.bill(most, {})

    def collect_open(self) -> None:
        """Wait for every batch whose replies are not in the journal."""
        for one in self.notes.open():
            self.collect(one)

    def ask(self, questions: Sequence[Question]) -> None:
        """Get questions answered batch by batch, first questions and repairs in separate batches.

        Raises:
            UserError: the hard cap forbids another request.
        """
        left = list(questions)
        while left:
            is_repair = {
                q.key: self.session.decisions.reason_of_first(q.key) is not None for q in left
            }
            kind = is_repair[left[0].key]
            alike = [q for q in left if is_repair[q.key] == kind][:LARGEST_BATCH]
            try:
                n = self.submit(alike, kind)
            except CapReachedError:
                about = self.session.about
                raise cap_reached(about, self.session.account.cap, len(left)) from None
            sent = {question.key for question in alike[:n]}
            left = [question for question in left if question.key not in sent]
            self.collect_open()


def _errors(state: Any) -> str:
    """Return the API's reasons for refusing a batch."""
    found = getattr(getattr(state, "errors", None), "data", None) or []
    return "; ".join(str(error.message) for error in found) or "the API gives no reason"


@contextmanager
def _told(key: str | None) -> Iterator[None]:
    """Turn an error of the openai client into one sentence without the key."""
    import openai

    try:
        yield
    except openai.OpenAIError as error:
        text = without_key(f"{type(error).__name__}: {error}", key)[:300]
        raise UserError(
            f"the Batch API cannot be used: {text}; run the same command again to continue, "
            "nothing is submitted twice"
        ) from None


def ask_by_batch(session: Session, questions: Iterable[Question]) -> None:
    """Ask a judge's missing questions through the Batch API, and wait for the replies.

    Args:
        session: the job's session; its endpoint need not be open.
        questions: all questions.

    Raises:
        UserError: the API cannot be used or refuses a batch, or the hard cap forbids a request.
    """
    import openai

    endpoint, decisions = session.endpoint, session.decisions
    key = endpoint.key or "none"  # the client requires one
    transport = openai.DefaultHttpxClient(trust_env=not endpoint.is_here)
    client = openai.OpenAI(api_key=key, base_url=endpoint.url, max_retries=0, http_client=transport)
    notes = BatchNotes(decisions.folder)
    batches = Batches(client, client.with_options(max_retries=RETRIES), session, notes)
    with only_writer(decisions.folder), session.account, _told(endpoint.key):
        decisions.refresh()
        for one in notes.open():
            session.account.reserve(one.most)
        batches.collect_open()
        wanted = {question.key: question for question in questions}
        for _ in range(ROUNDS):
            batches.ask([wanted[k] for k in wanted if not decisions.is_finished(k)])
