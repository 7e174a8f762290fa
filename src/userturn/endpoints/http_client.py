"""An OpenAI-compatible endpoint: one request in, one reply out, with retries.

Requests are posted with aiohttp. The openai client would take 4 ms of CPU per request instead of
0.3 ms, and 2 s to import, and reads a body of any size. The wire format is the same.
"""

import asyncio
import json
import random
import re
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import aiohttp

from userturn.config.judge_keys import ServerEntry
from userturn.endpoints.api_keys import remove_key
from userturn.endpoints.budget import Account
from userturn.endpoints.concurrency import Pace, one_slot
from userturn.endpoints.http_replies import (
    NotSentError,
    Received,
    RetriableError,
    TimedOutError,
    error_in,
    error_of,
    is_other_model,
    replace_surrogates,
    retry_after,
)
from userturn.endpoints.usage import Spent, largest_request
from userturn.logs import say

LARGEST_BODY = 1_000_000  # bytes read of a reply
LONGEST_NAME = 200  # characters of a model's name
LONGEST_TEXT = 4_000  # characters kept of an unreadable reply; of an error, 300
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds between two attempts
TIMEOUTS = 3  # attempts that may time out, each of which may have been billed
# The endpoint, or the proxy before it, cannot be reached.
UNSENT = (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError, aiohttp.InvalidURL)
LONG_WAIT = 30.0  # seconds from which a wait is announced
HERE = re.compile(r"https?://(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?:[:/]|$)")


class Named(Protocol):
    """A reply that may name the model that gave it."""

    @property
    def model(self) -> str | None:
        """The endpoint's name of the model, or None."""


Asked = TypeVar("Asked")
Replied = TypeVar("Replied", bound=Named)


@dataclass
class Endpoint(ABC, Generic[Asked, Replied]):
    """An open connection to an endpoint.

    Attributes:
        url: URL of the API, up to `/v1`.
        settings: the complete entry of the judge or model.
        key: the API key, sent as a bearer token and never shown.
        path: what follows the URL, such as `completions`.
    """

    url: str
    settings: ServerEntry
    key: str | None
    pace: Pace
    path: ClassVar[str]
    largest_body: ClassVar[int] = LARGEST_BODY
    _session: aiohttp.ClientSession | None = field(default=None, init=False)
    _other_models: set[str] = field(default_factory=set, init=False)

    @abstractmethod
    def body(self, asked: Asked) -> dict[str, Any]:
        """Return the body of a request."""

    @abstractmethod
    def read(self, received: Received) -> tuple[Replied, dict[str, Any]]:
        """Return the reply and the token usage from the body of a response."""

    @abstractmethod
    def unread(self, received: bytes) -> Replied:
        """Return the reply for a body too large to read, from its beginning."""

    @abstractmethod
    def largest_reply(self, asked: Asked) -> int:
        """Return the largest number of tokens that a reply may have."""

    def slots(self, account: Account) -> Path:
        """Return the folder of the slots that limit the requests in flight from this machine."""
        return account.folder / "in_flight" / account.judge

    async def __aenter__(self) -> Self:
        """Open the connection pool."""
        headers = {"Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # the pace limits them
            timeout=aiohttp.ClientTimeout(total=self.settings["timeout"]),
            headers=headers,
            auto_decompress=True,
            trust_env=not self.is_here,  # use the environment's proxies, and their exceptions
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    @property
    def is_here(self) -> bool:
        """Whether the endpoint is on this machine, which a proxy could not reach."""
        return HERE.match(self.url) is not None

    def redacted(self, text: str, length: int = LONGEST_TEXT) -> str:
        """Return a text without the API key, cut to a length."""
        text = remove_key(text, self.key)
        return text if len(text) <= length else f"{text[:length]}[…]"

    def other_name(self, reply: Replied) -> str | None:
        """Return the name of the model that replied if it is not the requested one, else None.

        A different model is reported once. A snapshot of the requested model is not different.
        """
        asked = self.settings["model"]
        if reply.model is None or reply.model == asked:
            return None
        name = self.redacted(reply.model, LONGEST_NAME)
        if is_other_model(asked, reply.model) and name not in self._other_models:
            self._other_models.add(name)
            say(
                f"the endpoint '{self.url}' was asked for '{asked}' and answers as '{name}'; the "
                "journal records that name with each reply: correct `model`, or the endpoint"
            )
        return name

    async def complete(self, asked: Asked, account: Account) -> Replied:
        """Return the reply to a request, after as many attempts as the entry allows.

        Raises:
            EndpointError: there is no reply; unless it is an UnscoredError, a later run may.
            CapReachedError: one more request could pass the hard cap.
        """
        body = json.dumps(self.body(asked)).encode()
        most = largest_request(len(body), self.largest_reply(asked))
        n_timeouts = 0
        for attempt in range(1, self.settings["attempts"] + 1):
            await self.pace.pause()
            try:
                async with one_slot(self.slots(account), self.settings["concurrency"]):
                    reply = await self._attempt(body, most, account)
            except RetriableError as error:
                n_timeouts += isinstance(error, TimedOutError)
                if attempt == self.settings["attempts"] or n_timeouts == TIMEOUTS:
                    raise error.ends_as(f"{error}, after {attempt} attempts") from None
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1))
                wait = max(error.retry_after, random.uniform(wait / 2, wait))
                if wait > LONG_WAIT:
                    say(f"the endpoint '{self.url}': next attempt in {wait:.0f} s: {error}")
                await asyncio.sleep(wait)
            else:
                return reply
        raise AssertionError("an entry allows at least one attempt")

    async def _attempt(self, body: bytes, most: Spent, account: Account) -> Replied:
        """Send a request, which is counted before it is sent and settled however it ends."""
        while not account.send(most):
            await asyncio.sleep(0.02)  # until a request in flight has ended
        began, was_sent = time.monotonic(), True
        usage: dict[str, Any] | None = {}
        received = b""
        try:
            response, received, is_whole = await self._post(body)
            if not 200 <= response.status < 300:
                usage = None
                self._refuse(response, received)
            self.pace.answered(time.monotonic() - began)
            if not is_whole:
                return self.unread(received)
            whole = Received(received)
            reply, usage = self.read(whole)
            if (fault := error_in(whole)) is not None:
                status, told = fault
                shown = f"an error in a reply: {self.redacted(replace_surrogates(told), 300)}"
                raise error_of(status, told, shown)
            return reply
        except NotSentError:
            was_sent = False
            raise
        finally:
            if was_sent:
                account.settle(most, usage, len(received))
            else:
                account.unsend(most)

    async def _post(self, body: bytes) -> tuple[aiohttp.ClientResponse, bytes, bool]:
        assert self._session is not None
        url = f"{self.url}/{self.path}"
        try:
            async with self._session.post(url, data=body, allow_redirects=False) as response:
                return response, *await bounded_body(response.content, self.largest_body)
        except UNSENT as error:
            raise NotSentError(f"no connection: {self.redacted(str(error), 300)}") from None
        except TimeoutError:
            self.pace.slowed()
            seconds = self.settings["timeout"]
            raise TimedOutError(f"no whole reply within {seconds:g} s") from None
        except aiohttp.ClientError as error:
            description = " ".join(f"{type(error).__name__}: {error}".split())
            text = self.redacted(description, 300)
            raise RetriableError(f"the connection broke: {text}") from None

    def _refuse(self, response: aiohttp.ClientResponse, received: bytes) -> None:
        whole = received.decode(errors="replace")
        target = response.headers.get("Location", "")
        led = f"to {self.redacted(target, 200)}, which is not followed; " if target else ""
        reason = f"status {response.status}: {led}{self.redacted(whole, 300)}"
        error = error_of(response.status, whole, reason, retry_after(response.headers, whole))
        if response.status == 429 and isinstance(error, RetriableError):
            self.pace.slowed(error.retry_after)
        raise error


async def bounded_body(stream: aiohttp.StreamReader, most: int) -> tuple[bytes, bool]:
    """Return at most about `most` bytes of a body, and whether it is complete."""
    chunks, n_bytes = [], 0
    async for chunk in stream.iter_any():
        chunks.append(chunk)
        n_bytes += len(chunk)
        if n_bytes > most:
            return b"".join(chunks), False
    return b"".join(chunks), True
