"""The Batch API: many questions in one file, answered within a day at half the price.

Each step is noted beside the journal before the next: the file that was uploaded, the batch made of
it, and that its replies are in the journal. A job that was killed finds its batch again, by its
noted id or by its file, and submits nothing twice.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.judges.api_keys import without_key
from userturn.judges.budget import Account, CapReachedError, cap_reached
from userturn.judges.decide import Read, record_of, repaired
from userturn.judges.decisions import Decisions, Record, only_writer
from userturn.judges.http_client import Endpoint
from userturn.judges.parse_reply import read_reply
from userturn.judges.prompt import Question
from userturn.judges.usage import Spent, at_most
from userturn.logs import say
from userturn.storage.journal import Writer, read_journal

LARGEST_BATCH = 20_000  # questions; the API takes 50,000 and 200 MB
FIRST_POLL, LONGEST_POLL = 1.0, 60.0  # seconds between two looks at a batch
ENDED = ("completed", "failed", "expired", "cancelled")
ROUNDS = 2  # all questions, then once more those whose reply could not be read
PATH = "/v1/chat/completions"


@dataclass
class Batches:
    """The batches of one judge and dataset.

    Attributes:
        client: of the openai package.
        endpoint: what a request looks like, and how texts lose the key.
        read: reads a reply.
        decisions: of the journal.
        account: of the judge and cell.
    """

    client: Any
    endpoint: Endpoint
    read: Read
    decisions: Decisions
    account: Account

    @property
    def notes(self) -> Path:
        """Where the steps of all batches are noted."""
        return self.decisions.folder / "batches"

    def note(self, step: str, file: str, batch: str | None = None) -> None:
        """Note one step of the batch that an uploaded file makes."""
        with Writer(self.notes) as writer:
            writer.append({"key": f"{file} {step}", "outcome": step, "file": file, "batch": batch})

    def open_files(self) -> dict[str, str | None]:
        """Return the uploaded files whose replies are not in the journal, with their batches."""
        found = read_journal(self.notes).records.values()
        batches = {note["file"]: note["batch"] for note in found if note["outcome"] == "created"}
        collected = {note["file"] for note in found if note["outcome"] == "collected"}
        uploaded = {note["file"] for note in found if note["outcome"] == "uploaded"}
        return {file: batches.get(file) for file in sorted(uploaded - collected)}

    def body(self, question: Question) -> dict[str, Any]:
        """Return the request of a question, or of its repair where a first reply was unclear."""
        found = self.decisions.get(question.key)
        is_repair = found is not None and found.outcome == "unclear"
        asked = repaired(question, found.reason or "") if found and is_repair else question
        return {**self.endpoint.fixed, "messages": list(asked.messages)}

    def submit(self, questions: Iterable[Question]) -> int:
        """Upload questions and make them a batch; return how many, as the hard cap allows.

        Raises:
            CapReachedError: the cap allows none.
        """
        lines: list[bytes] = []
        most = Spent()
        for question in questions:
            body = self.body(question)
            request = {"custom_id": question.key, "method": "POST", "url": PATH, "body": body}
            line = json.dumps(request).encode()
            more = most + at_most(len(line), self.endpoint.max_output)
            if not self.account.allows(more):
                break
            most = more
            lines.append(line)
        if not lines:
            raise CapReachedError
        content = ("questions.jsonl", b"\n".join(lines) + b"\n")
        file = self.client.files.create(file=content, purpose="batch").id
        self.note("uploaded", file)
        self.create(file)
        return len(lines)

    def create(self, file: str) -> str:
        """Return the batch of an uploaded file: one that is there already, else a new one."""
        made = self.client.batches.list(limit=100)
        batch = next((b.id for b in made if b.input_file_id == file), None)
        if batch is None:
            batch = self.client.batches.create(
                input_file_id=file, endpoint=PATH, completion_window="24h"
            ).id
        self.note("created", file, batch)
        return str(batch)

    def collect(self, file: str, batch: str) -> None:
        """Wait for a batch and put its replies into the journal."""
        wait = FIRST_POLL
        while (state := self.client.batches.retrieve(batch)).status not in ENDED:
            say(f"batch {batch}: {state.status}, looking again in {wait:.0f} s")
            time.sleep(wait)
            wait = min(LONGEST_POLL, wait * 2)
        with Writer(self.decisions.folder) as journal:
            for output in filter(None, (state.output_file_id, state.error_file_id)):
                for line in self.client.files.content(output).iter_lines():
                    if line:
                        journal.append(self.record(json.loads(line)))
        self.note("collected", file, batch)
        self.decisions.refresh()

    def record(self, line: Mapping[str, Any]) -> Record:
        """Return the journal's record of one line of a batch's output, and settle its cost."""
        key, response = line["custom_id"], line.get("response") or {}
        if response.get("status_code") != 200:
            self.account.bill(Spent(), None)
            why = json.dumps(line.get("error") or response.get("body"))
            text = self.endpoint.redacted(f"batch: {why}", 300)
            return {"key": key, "outcome": "error", "reason": text}
        reply, usage = read_reply(json.dumps(response["body"]).encode())
        self.account.bill(Spent(1, 1), usage)
        record = record_of(key, reply, self.read, self.endpoint)
        if record["outcome"] == "ok":
            self.account.decided()
        found = self.decisions.get(key)
        is_second = found is not None and found.outcome == "unclear"
        if record["outcome"] == "unclear" and is_second:
            return record | {"outcome": "unscored"}
        return record

    def collect_open(self) -> None:
        """Wait for every batch whose replies are not in the journal."""
        for file, batch in self.open_files().items():
            self.collect(file, batch or self.create(file))

    def ask(self, questions: Sequence[Question], what: str) -> None:
        """Have questions answered, a batch after the other.

        Raises:
            UserError: the hard cap forbids another request.
        """
        left = questions
        while left:
            try:
                n = self.submit(left[:LARGEST_BATCH])
            except CapReachedError:
                raise cap_reached(what, self.account.cap, len(left)) from None
            left = left[n:]
            self.collect_open()


@contextmanager
def _told(key: str | None) -> Iterator[None]:
    """Turn an error of the openai client into one sentence without the key."""
    import openai

    try:
        yield
    except openai.OpenAIError as error:
        text = without_key(f"{type(error).__name__}: {error}", key)[:300]
        raise UserError(
            f"the Batch API cannot be used: {text}; run the same command again to go on, nothing "
            "is submitted twice"
        ) from None


def ask_by_batch(
    endpoint: Endpoint,
    read: Read,
    decisions: Decisions,
    account: Account,
    questions: Iterable[Question],
    what: str,
) -> None:
    """Ask a judge through the Batch API for what its journal lacks, waiting for the replies.

    Args:
        endpoint: of the judge; it need not be open.
        read: reads its replies.
        decisions: of the journal, about the keys of all questions.
        account: of the judge and cell.
        questions: all of them.
        what: is asked about, for messages.

    Raises:
        UserError: the API cannot be used, or the hard cap forbids another request.
    """
    import openai

    key = endpoint.key or "none"  # the client wants one
    client = openai.OpenAI(api_key=key, base_url=endpoint.url, max_retries=0)
    batches = Batches(client, endpoint, read, decisions, account)
    with only_writer(decisions.folder), account, _told(endpoint.key):
        decisions.refresh()
        batches.collect_open()
        wanted = {question.key: question for question in questions}
        for _ in range(ROUNDS):
            batches.ask([wanted[k] for k in wanted if not decisions.is_finished(k)], what)
