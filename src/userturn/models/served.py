"""The engine of a model that somebody else serves: many requests at once, each reply checked."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from userturn.endpoints.budget import Account, CapReachedError, cap_reached
from userturn.endpoints.http_replies import (
    BROKEN_AFTER,
    EndpointError,
    UnscoredError,
    replace_surrogates,
)
from userturn.errors import UserError
from userturn.models.completion_endpoint import CompletionEndpoint, Dialect
from userturn.models.requests import AnyRequest, Completion, ScoringRequest, refusal
from userturn.models.server_check import Inquiry, ServerCheck, check_server
from userturn.models.server_replies import ReplyError, ask
from userturn.prompts.chat_template import Template

LONGEST_ERROR = 500  # characters
GLANCE = 0.5  # seconds after which the caller may stop, if no reply came


@dataclass
class ServedModel:
    """A model on a server, as an engine (`models.requests.Engine`).

    Attributes:
        checked: takes the check of the server, before any request is sent.
    """

    name: str
    template: Template
    endpoint: CompletionEndpoint
    account: Account
    checked: Callable[[ServerCheck], None]
    _dialect: Dialect | None = None
    _finished: deque[tuple[AnyRequest, Completion]] = field(default_factory=deque)
    _failure: Exception | None = None
    _unusable: list[str] = field(default_factory=list)
    _came: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(
        self, requests: Iterable[AnyRequest]
    ) -> Iterator[tuple[AnyRequest, Completion] | None]:
        """Yield each request with its completion as it finishes, and None after each step.

        Raises:
            UserError: the server has another model or is broken, or the cap on money is reached.
                Requests in flight are yielded first.
        """
        with self._open() as loop:
            dialect = loop.run_until_complete(self._checked())
            tasks: set[asyncio.Task[None]] = set()
            waiting = iter(requests)
            while True:
                while self._failure is None and len(tasks) < int(self.endpoint.pace.limit):
                    request = next(waiting, None)
                    if request is None:
                        break
                    task = loop.create_task(self._settle(request, dialect))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
                if not tasks:
                    break
                loop.run_until_complete(self._some(tasks))
                while self._finished:
                    yield self._finished.popleft()
                yield None
        if self._failure is not None:
            raise self._failure

    @contextmanager
    def _open(self) -> Iterator[asyncio.AbstractEventLoop]:
        """Open the server's connections and the account, and at the end cancel open requests."""
        with self.account, asyncio.Runner() as runner:
            loop = runner.get_loop()
            loop.run_until_complete(self.endpoint.__aenter__())
            try:
                yield loop
            finally:
                loop.run_until_complete(_cancel_all())
                loop.run_until_complete(self.endpoint.__aexit__())

    async def _checked(self) -> Dialect:
        """Return the server's dialect, which the first call finds out and notes."""
        if self._dialect is None:
            try:
                check = await self._look()
            except CapReachedError:
                raise cap_reached(f"model {self.name}", self.account.cap) from None
            self.checked(check)
            self._dialect = check.dialect
        return self._dialect

    async def _look(self) -> ServerCheck:
        return await check_server(Inquiry(self.endpoint, self.template, self.account))

    async def _some(self, tasks: set[asyncio.Task[None]]) -> None:
        """Wait until a request has finished, or for a moment."""
        if tasks and not self._finished:
            self._came = asyncio.Event()
            try:
                await asyncio.wait_for(self._came.wait(), GLANCE)
            except TimeoutError:
                return

    async def _settle(self, request: AnyRequest, dialect: Dialect) -> None:
        try:
            completion = await self._complete(request, dialect)
        except (ReplyError, EndpointError) as error:
            reason = replace_surrogates(str(refusal(error).error))
            completion = replace(
                refusal(error), error=self.endpoint.redacted(reason, LONGEST_ERROR)
            )
            self._check(error)
        except CapReachedError:
            reached = cap_reached(f"model {self.name}", self.account.cap)
            self._failure = self._failure or reached
            return
        except Exception as error:  # raised by the caller, whatever it is
            self._failure = self._failure or error
            return
        else:
            self._unusable.clear()
            self.account.decided()
        finally:
            self._came.set()
        self._finished.append((request, completion))

    async def _complete(self, request: AnyRequest, dialect: Dialect) -> Completion:
        """Return the completion of a request, from a reply that was checked.

        Raises:
            ReplyError: the prompt must be sent as text and a message quotes a special token, so
                that the text stands for other tokens.
        """
        if not isinstance(request, ScoringRequest):
            text, ids = request.prompt.text, request.prompt.token_ids
        elif dialect.scores_by is not None:
            text, ids = self.template.decode(request.token_ids), request.token_ids
        else:
            raise UserError(
                f"model '{self.name}': the server '{self.endpoint.url}' gives no "
                "log-likelihood of a given text (neither `prompt_logprobs` nor `echo`); set "
                "`likelihood: off`, or run this model elsewhere"
            )
        if not dialect.takes_ids and self.template.encoder.encode_whole(text) != list(ids):
            raise ReplyError("the prompt quotes a special token, which text cannot tell apart")
        return await ask(self.endpoint, request, dialect, self.template, self.account)

    def _check(self, error: Exception) -> None:
        """Note a failed request, and stop after many in a row without a usable reply."""
        if isinstance(error, UnscoredError):  # of this prompt alone
            return
        self._unusable.append(str(error))
        if len(self._unusable) >= BROKEN_AFTER:
            self._failure = self._failure or UserError(
                f"model '{self.name}': the server '{self.endpoint.url}' is broken: "
                f"{len(self._unusable)} requests in a row ended without a usable reply; the first: "
                f"{self._unusable[0]}; correct the entry or the server and run the same command "
                "again"
            )


async def _cancel_all() -> None:
    """Cancel the tasks still in flight, so that each request is settled in its account."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
