"""Questions become decisions: found in a judge's journal, or asked for, and noted as they come."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from userturn.judges.budget import Account, CapReachedError, cap_reached
from userturn.judges.decisions import Decisions, Record, only_writer
from userturn.judges.http_client import Endpoint, EndpointError
from userturn.judges.parse_reply import Reply, UnclearReplyError, without_surrogates
from userturn.judges.prompt import Question
from userturn.logs import Progress
from userturn.storage.journal import Writer

Read = Callable[[Reply], Record]
"""Returns what a reply says, or raises UnclearReplyError."""

REPAIR = (
    "\n\nAn earlier reply to this could not be used: {reason}. Reply with the one JSON object that "
    "is asked for and nothing else."
)


def repaired(question: Question, reason: str) -> Question:
    """Return a question put once more, with what was wrong with the first reply.

    That is added to the last message: chat templates of some families take no two messages of the
    user in a row, and others no empty message of the assistant.
    """
    *before, last = question.messages
    again = {"role": last["role"], "content": last["content"] + REPAIR.format(reason=reason)}
    return Question(question.key, (*before, again))


def record_of(key: str, reply: Reply, read: Read, endpoint: Endpoint) -> Record:
    """Return the journal's record of a reply, without the endpoint's key in any of its texts.

    Its outcome is `ok`, `unscored` where asking again is no use, else `unclear`.
    """
    try:
        said = read(reply)
    except UnclearReplyError as error:
        outcome, words = ("unscored", reply.refusal) if error.final else ("unclear", None)
        raw = endpoint.redacted(words or reply.raw)
        return {"key": key, "outcome": outcome, "reason": str(error), "reply": raw}
    texts = {
        name: endpoint.redacted(without_surrogates(value))
        for name, value in said.items()
        if isinstance(value, str) and name != "label"  # a label is the rubric's own word
    }
    return {"key": key, "outcome": "ok", "said": said | texts}


async def decide(
    reply_to: Callable[[Question], Awaitable[Record]],
    question: Question,
    first_reason: str | None,
    keep_first: Callable[[Record], None],
) -> Record:
    """Return the record of one question: decided, unscored after one repair, or an error.

    Args:
        reply_to: asks, and returns the record of the reply.
        question: to be decided.
        first_reason: why a first reply could not be read, where one came before; else None.
        keep_first: is given the first reply where that cannot be read.
    """
    try:
        if first_reason is None:
            first = await reply_to(question)
            if first["outcome"] != "unclear":
                return first
            keep_first(first)
            first_reason = str(first["reason"])
        second = await reply_to(repaired(question, first_reason))
    except EndpointError as error:
        return {"key": question.key, "outcome": "error", "reason": str(error)}
    return second if second["outcome"] == "ok" else left_open(second, first_reason)


def left_open(second: Record, first_reason: str) -> Record:
    """Return the record of a question whose second reply cannot be read either."""
    why = f"{first_reason}; asked again: {second['reason']}"
    return second | {"outcome": "unscored", "reason": why}


async def ask_without_journal(
    endpoint: Endpoint, read: Read, account: Account, questions: Sequence[Question]
) -> list[Record]:
    """Return the record of each question; one that the hard cap forbids is an error."""

    async def reply_to(question: Question) -> Record:
        reply = await endpoint.complete(list(question.messages), account)
        return record_of(question.key, reply, read, endpoint)

    async def settle(question: Question) -> Record:
        async with limit:
            try:
                return await decide(reply_to, question, None, lambda _: None)
            except CapReachedError:
                why = "one more question could pass max_cost"
                return {"key": question.key, "outcome": "error", "reason": why}

    limit = asyncio.Semaphore(endpoint.settings["concurrency"])
    with account:
        async with endpoint:
            return list(await asyncio.gather(*map(settle, questions)))


@dataclass
class Asker:
    """Asks one judge for what the journal of a dataset lacks.

    Attributes:
        endpoint: of the judge, open.
        read: reads its replies.
        journal: of the judge and dataset.
        account: of the judge and cell.
        decisions: of the journal, about the keys of all questions.
    """

    endpoint: Endpoint
    read: Read
    journal: Writer
    account: Account
    decisions: Decisions
    _n_running: int = 0
    _failure: BaseException | None = None
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, questions: Iterable[Question], progress: Progress) -> None:
        """Ask every question, no more at once than the pace allows.

        Raises:
            BrokenEndpointError: the endpoint answers nothing any more.
            CapReachedError: one more request could pass the hard cap.
        """
        tasks: set[asyncio.Task[None]] = set()
        for question in questions:
            while self._n_running >= int(self.endpoint.pace.limit):
                self._freed.clear()
                await self._freed.wait()
            if self._failure is not None:
                break
            self._n_running += 1
            task = asyncio.create_task(self._settle(question, progress))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        while tasks:
            await asyncio.wait(tasks)
        if self._failure is not None:
            raise self._failure

    async def _settle(self, question: Question, progress: Progress) -> None:
        try:
            record = await self._decide(question)
            self._keep(record)
            if record["outcome"] == "ok":
                self.account.decided()
            progress.add(0)
            self.endpoint.check()
        except Exception as error:
            self._failure = self._failure or error
        finally:
            self._n_running -= 1
            self._freed.set()

    async def _decide(self, question: Question) -> Record:
        reason = self.decisions.reason_of_first(question.key)
        return await decide(self._reply_to, question, reason, self._keep)

    def _keep(self, record: Record) -> None:
        self.journal.append(self.decisions.in_round(record))

    async def _reply_to(self, question: Question) -> Record:
        reply = await self.endpoint.complete(list(question.messages), self.account)
        return record_of(question.key, reply, self.read, self.endpoint)


async def ask_missing(
    endpoint: Endpoint,
    read: Read,
    decisions: Decisions,
    account: Account,
    questions: Iterable[Question],
    what: str,
) -> None:
    """Ask a judge for what its journal lacks, and refresh the decisions.

    Args:
        endpoint: of the judge, open.
        read: reads its replies.
        decisions: of the journal, about the keys of all questions.
        account: of the judge and cell.
        questions: all of them, made one at a time.
        what: is asked about, for the progress lines.

    Raises:
        UserError: the endpoint is broken, or the hard cap forbids another request.
    """
    with only_writer(decisions.folder):
        decisions.refresh()  # another cell may have asked the same
        missing = {key for key in decisions.wanted if not decisions.is_finished(key)}
        progress = Progress(what, len(missing))

        def asked_once() -> Iterator[Question]:
            for question in questions:
                if question.key in missing:
                    missing.discard(question.key)
                    yield question

        with Writer(decisions.folder) as journal, account:
            asker = Asker(endpoint, read, journal, account, decisions)
            try:
                await asker.ask(asked_once(), progress)
            except CapReachedError:
                n_left = progress.n_requests - progress.n_done
                raise cap_reached(what, account.cap, n_left) from None
    decisions.refresh()
