"""A judge's endpoint for chat completions: one conversation in, one reply out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from userturn.config.judge_keys import EndpointEntry
from userturn.datasets.messages import Message
from userturn.endpoints.budget import Account
from userturn.endpoints.http_client import Endpoint
from userturn.endpoints.http_errors import CUT, UnscoredError
from userturn.endpoints.response_body import Received
from userturn.endpoints.usage import most_written, was_cut
from userturn.judges.parse_reply import Reply, read_reply
from userturn.logs import say


@dataclass
class ChatEndpoint(Endpoint[Sequence[Message], Reply]):
    """An open connection to a judge's endpoint.

    Attributes:
        settings: the judge's complete entry.
        response_format: field of the request's body, or None.
    """

    settings: EndpointEntry
    response_format: Mapping[str, Any] | None
    path: ClassVar[str] = "chat/completions"
    _has_cut: bool = field(default=False, init=False)

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """The fields of every request's body except its messages."""
        body = {"model": self.settings["model"], **self.settings["settings"]}
        form = self.response_format
        return body if form is None else body | {"response_format": form}

    async def complete(self, asked: Sequence[Message], account: Account) -> Reply:
        """Return the reply to a conversation, after as many attempts as the entry allows.

        Raises:
            UnscoredError: the server says that it read far less than was sent.
            EndpointError: no reply; a later attempt may get one.
            CapReachedError: one more request could pass the hard cap.
        """
        reply = await super().complete(asked, account)
        texts = [message["content"] for message in asked]
        if not was_cut(reply.n_read, texts):
            return reply
        found = f"{reply.n_read} tokens read of {sum(map(len, texts))} characters"
        if not self._has_cut:
            self._has_cut = True
            say(
                f"the endpoint '{self.url}' cuts what it is sent ({found}): these questions are "
                "unscored; give it a larger context, and use `userturn rejudge`"
            )
        raise UnscoredError(found, CUT)

    def body(self, asked: Sequence[Message]) -> dict[str, Any]:
        """Return the body of a request."""
        return {**self.fixed, "messages": list(asked)}

    def read(self, received: Received) -> tuple[Reply, dict[str, Any]]:
        """Return the reply and the token usage in a response's body."""
        reply, usage = read_reply(received)
        return reply._replace(raw=self.redacted(reply.raw)), usage

    def unread(self, received: bytes) -> Reply:
        """Return a reply without content."""
        return Reply(None, None, None, self.redacted(received.decode(errors="replace")))

    def largest_reply(self, asked: Sequence[Message]) -> int:
        """Return the largest number of tokens in a reply, which no question changes."""
        return self.max_output

    @property
    def max_output(self) -> int:
        """The largest number of tokens in a reply."""
        return most_written(self.settings)
