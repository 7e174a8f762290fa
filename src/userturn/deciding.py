"""Questions become decisions: found in a judge's journal, or asked for, and noted as they come."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from userturn.decisions import Decisions, Record, only_writer
from userturn.endpoint import Endpoint, EndpointError
from userturn.errors import UserError
from userturn.journal import Writer
from userturn.judge_requests import Question
from userturn.ledger import Account, CapReachedError
from userturn.logs import Progress
from userturn.replies import Reply, UnclearReplyError

Read = Callable[[Reply], Record]
"""Returns what a reply says, or raises UnclearReplyError."""

REPAIR = (
    "That reply cannot be used: {reason}. Reply again, with the one JSON object that was asked "
    "for and nothing else."
)


def repaired(question: Question, reason: str) -> Question:
    """Return a question put once more, with what was wrong with the first reply."""
    message = {"role": "user", "content": REPAIR.format(reason=reason)}
    return Question(question.key, (*question.messages, message))


@dataclass
class Asker:
    """Asks one judge for what the journal of a dataset lacks.

    Attributes:
        endpoint: of the judge, open.
        read: reads its replies.
        journal: of the judge and dataset.
        account: of the judge and cell.
        unclear: first replies that could not be read, by key, with the reason.
    """

    endpoint: Endpoint
    read: Read
    journal: Writer
    account: Account
    unclear: dict[str, str] = field(default_factory=dict)
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
            self.journal.append(record)
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
        """Return the record of one question: decided, unscored after one repair, or an error."""
        record: Record = {"key": question.key}
        try:
            reason = self.unclear.get(question.key)
            if reason is None:
                reply = await self.endpoint.complete(list(question.messages), self.account)
                try:
                    return record | {"outcome": "ok", "said": self._said(reply)}
                except UnclearReplyError as error:
                    reason = str(error)
                    noted = record | {"reason": reason, "reply": reply.raw}
                    if error.final:
                        return noted | {"outcome": "unscored", "reply": reply.refusal or reply.raw}
                    self.journal.append(noted | {"outcome": "unclear"})
            again = repaired(question, reason)
            reply = await self.endpoint.complete(list(again.messages), self.account)
            try:
                return record | {"outcome": "ok", "said": self._said(reply)}
            except UnclearReplyError as error:
                why = f"{reason}; asked again: {error}"
                return record | {"outcome": "unscored", "reason": why, "reply": reply.raw}
        except EndpointError as error:
            return record | {"outcome": "error", "reason": str(error)}

    def _said(self, reply: Reply) -> Record:
        said = self.read(reply)
        return {
            key: self.endpoint.redacted(value) if isinstance(value, str) else value
            for key, value in said.items()
        }


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
        keys = {key.decode() for key in decisions.wanted}
        missing = {key for key in keys if not decisions.is_finished(key)}
        n_missing = len(missing)
        unclear = {
            key: found.reason or ""
            for key in missing
            if (found := decisions.get(key)) is not None and found.outcome == "unclear"
        }

        def asked_once() -> Iterator[Question]:
            for question in questions:
                if question.key in missing:
                    missing.discard(question.key)
                    yield question

        progress = Progress(what, n_missing)
        with Writer(decisions.folder) as journal, account:
            asker = Asker(endpoint, read, journal, account, unclear)
            try:
                await asker.ask(asked_once(), progress)
            except CapReachedError:
                raise UserError(
                    f"{what}: stopped before max_cost {account.cap:g} could be passed, with "
                    f"{n_missing - progress.n_done} questions left; what was decided is in the "
                    "journal: raise max_cost and run the same command again"
                ) from None
    decisions.refresh()
