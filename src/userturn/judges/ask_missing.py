"""Turn questions into decisions: from a judge's journal, or by asking and journalling."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from userturn.endpoints.budget import Account, CapReachedError, cap_reached
from userturn.endpoints.http_replies import BROKEN_AFTER, UNANSWERABLE
from userturn.errors import UserError
from userturn.judges.decisions import Record, only_writer
from userturn.judges.question import Question
from userturn.judges.session import ChatEndpoint, Read, Session, decide, record_of
from userturn.logs import Progress
from userturn.storage.files import read_identity, write_json
from userturn.storage.hashing import fingerprint
from userturn.storage.journal import Writer


def _trial(endpoint: ChatEndpoint, account: Account) -> tuple[Path, str]:
    """Return (path, identity) of an endpoint's trial, which do not depend on a local port."""
    address = None if endpoint.is_here else endpoint.url
    path = account.folder / account.judge / "trial.json"
    return path, fingerprint([address, endpoint.fixed])


def note_trial(endpoint: ChatEndpoint, account: Account) -> None:
    """Note that the endpoint has given a verdict with this model and these settings."""
    write_json({"judge": account.judge}, *_trial(endpoint, account))


async def ask_without_journal(
    endpoint: ChatEndpoint, read: Read, account: Account, questions: Sequence[Question]
) -> list[Record]:
    """Return the record of each question, an error if the hard cap forbids the question."""

    async def reply_to(question: Question) -> Record:
        reply = await endpoint.complete(question.messages, account)
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


class BrokenEndpointError(UserError):
    """An endpoint that no longer gives usable replies."""


@dataclass
class QuestionRunner:
    """Asks one judge the questions that a dataset's journal has no decision on."""

    session: Session  # with its endpoint open
    journal: Writer
    _n_running: int = 0
    _unusable: list[str] = field(default_factory=list)
    _failure: BaseException | None = None
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, questions: Iterable[Question], progress: Progress) -> None:
        """Ask every question, with no more in flight than the pace allows.

        Raises:
            BrokenEndpointError: the endpoint no longer gives usable replies.
            CapReachedError: one more request could pass the hard cap.
        """
        tasks: set[asyncio.Task[None]] = set()
        path, identity = _trial(self.session.endpoint, self.session.account)
        is_tried = read_identity(path) == identity
        for question in questions:
            if not is_tried:
                await self._try(question, progress)
                is_tried = True
                continue
            while self._n_running >= int(self.session.endpoint.pace.limit):
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

    async def _try(self, question: Question, progress: Progress) -> None:
        """Ask an endpoint's first question alone, and note the trial if it gives a verdict."""
        endpoint, account = self.session.endpoint, self.session.account
        record = await self._decide(question)
        self._keep(record)
        progress.add(0)
        if record["outcome"] == "ok":
            account.decided()
            note_trial(endpoint, account)
        elif record["reason"] not in UNANSWERABLE:
            raise BrokenEndpointError(
                f"the first question to the endpoint '{endpoint.url}' brought no verdict, so no "
                f"other was asked: {record['reason']}; correct the judge's entry or the endpoint "
                "and run the same command again"
            )

    async def _settle(self, question: Question, progress: Progress) -> None:
        try:
            record = await self._decide(question)
            self._keep(record)
            if record["outcome"] == "ok":
                self.session.account.decided()
            progress.add(0)
            self._check(record)
        except Exception as error:
            self._failure = self._failure or error
        finally:
            self._n_running -= 1
            self._freed.set()

    def _check(self, record: Record) -> None:
        """Raise an error if many questions in a row ended without a usable reply."""
        if record["outcome"] == "ok" or record["reason"] in UNANSWERABLE:
            self._unusable.clear()
            return
        self._unusable.append(record["reason"])
        if len(self._unusable) >= BROKEN_AFTER:
            url = self.session.endpoint.url
            raise BrokenEndpointError(
                f"the endpoint '{url}' is broken: {len(self._unusable)} questions in a "
                f"row ended without a usable reply; the first: {self._unusable[0]}; correct the "
                "judge's entry or the endpoint and run the same command again, after "
                "`userturn rejudge` if replies could not be read"
            )

    async def _decide(self, question: Question) -> Record:
        reason = self.session.decisions.reason_of_first(question.key)
        return await decide(self._reply_to, question, reason, self._keep)

    def _keep(self, record: Record) -> None:
        self.journal.append(self.session.decisions.add_round(record))

    async def _reply_to(self, question: Question) -> Record:
        reply = await self.session.endpoint.complete(question.messages, self.session.account)
        return record_of(question.key, reply, self.session.read, self.session.endpoint)


async def ask_missing(session: Session, questions: Iterable[Question]) -> None:
    """Ask a judge the questions that its journal has no decision on, and refresh the decisions.

    The session's endpoint is open. Each of the `questions` is taken when it is to be asked.

    Raises:
        UserError: the endpoint is broken, or the hard cap forbids another request.
    """
    decisions, account = session.decisions, session.account
    with only_writer(decisions.folder):
        decisions.refresh()  # another cell may have asked the same question
        missing = decisions.unfinished()
        progress = Progress(session.about, len(missing))

        def asked_once() -> Iterator[Question]:
            for question in questions:
                if question.key in missing:
                    missing.discard(question.key)
                    yield question

        with Writer(decisions.folder) as journal, account:
            try:
                await QuestionRunner(session, journal).ask(asked_once(), progress)
            except CapReachedError:
                n_left = progress.n_requests - progress.n_done
                raise cap_reached(session.about, account.cap, n_left) from None
    decisions.refresh()
