"""One job's questions to a judge: the endpoint, one question and its repair, one record.

A record has a usable first reply, a usable reply to the repair, or the reason why there is none.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from userturn.config.judge_keys import EndpointEntry
from userturn.datasets.messages import Message
from userturn.endpoints.budget import Account
from userturn.endpoints.http_client import Endpoint
from userturn.endpoints.http_replies import (
    CUT,
    EndpointError,
    Received,
    UnscoredError,
    replace_surrogates,
)
from userturn.endpoints.usage import most_written, was_cut
from userturn.judges.decisions import Content, Decisions, Outcome, Record
from userturn.judges.parse_reply import Reply, UnclearReplyError, read_reply
from userturn.judges.question import JudgePrompt, Question
from userturn.logs import say

Read = Callable[[Reply], Content]
"""Parses a reply, or raises UnclearReplyError."""

REPAIR = (
    "\n\nAn earlier reply to this could not be used: {reason}. Reply with the one JSON object that "
    "is asked for and nothing else."
)


@dataclass
class ChatEndpoint(Endpoint[Sequence[Message], Reply]):
    """The connection to a judge's chat completions, open within `async with`."""

    settings: EndpointEntry
    response_format: Mapping[str, Any] | None  # field of the request's body, or None
    path: ClassVar[str] = "chat/completions"
    _has_cut: bool = field(default=False, init=False)

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """The fields of every request's body except its messages."""
        body = {"model": self.settings["model"], **self.settings["settings"]}
        response_format = self.response_format
        return body if response_format is None else body | {"response_format": response_format}

    async def complete(self, asked: Sequence[Message], account: Account) -> Reply:
        """Return the reply to a conversation, after as many attempts as the entry allows.

        Raises:
            UnscoredError: by its own count, the server read far less than was sent.
            EndpointError: there is no reply, but a later run may get one.
            CapReachedError: one more request could pass the hard cap.
        """
        reply = await super().complete(asked, account)
        texts = [message["content"] for message in asked]
        if not was_cut(reply.n_read, texts):
            return reply
        shortfall = f"{reply.n_read} tokens read of {sum(map(len, texts))} characters"
        if not self._has_cut:
            self._has_cut = True
            say(
                f"the endpoint '{self.url}' cuts what it is sent ({shortfall}): these questions "
                "are unscored; give it a larger context, and use `userturn rejudge`"
            )
        raise UnscoredError(shortfall, CUT)

    def body(self, asked: Sequence[Message]) -> dict[str, Any]:
        """Return the body of a request."""
        return {**self.fixed, "messages": list(asked)}

    def read(self, received: Received) -> tuple[Reply, dict[str, Any]]:
        """Return the reply and the token usage from the body of a response."""
        reply, usage = read_reply(received)
        return reply._replace(raw=self.redacted(reply.raw)), usage

    def unread(self, received: bytes) -> Reply:
        """Return a reply without content for a body that is too large to read."""
        return Reply(None, None, None, self.redacted(received.decode(errors="replace")))

    def largest_reply(self, asked: Sequence[Message]) -> int:
        """Return the largest number of tokens in a reply, which is the same for all questions."""
        return self.max_output

    @property
    def max_output(self) -> int:
        """The largest number of tokens in a reply."""
        return most_written(self.settings)


class ReplyFormat(NamedTuple):
    """The prompt, endpoint and reader of replies of a kind of judge that is asked over HTTP."""

    prompt: JudgePrompt
    # Takes a URL and a number of requests at once, and returns the endpoint, not yet open.
    open_endpoint: Callable[[str, int], ChatEndpoint]
    read: Read


@dataclass(frozen=True)
class Session:
    """One job's questions to one judge about one dataset."""

    endpoint: ChatEndpoint
    read: Read
    decisions: Decisions  # the journal's decisions on the keys of all questions
    account: Account  # account of the judge and cell
    about: str  # subject of the questions, for messages

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Warn first if the cap cannot hold, and at the end of replies that were not metered."""
        account = self.account
        is_served = self.endpoint.settings["serve"]
        if account.cap is not None and account.price is None and not is_served:
            say(f"{self.about}: the judge's entry has no price, so max_cost does not stop it")
        yield
        if (n := account.spent.n_unmetered) > 0:
            say(f"{self.about}: {n} replies without token counts; each counts as the maximum")


def repaired(question: Question, reason: str) -> Question:
    """Return the repair of a question, the same question with the fault of the first reply.

    The text is added to the last message, because some chat templates refuse two user messages in a
    row, and others an empty assistant message.
    """
    *before, last = question.messages
    again = {"role": last["role"], "content": last["content"] + REPAIR.format(reason=reason)}
    return Question(question.key, (*before, again))


def record_of(key: str, reply: Reply, read: Read, endpoint: ChatEndpoint) -> Record:
    """Return the journal's record of a reply, without the API key in any of its texts.

    Its outcome is `ok`, `unscored` if asking again is useless, else `unclear`.
    """
    record: Record
    try:
        content = read(reply)
    except UnclearReplyError as error:
        outcome: Outcome = "unscored" if error.final else "unclear"
        raw = endpoint.redacted(reply.refusal or reply.raw if error.final else reply.raw)
        record = {"key": key, "outcome": outcome, "reason": str(error), "reply": raw}
    else:
        texts = {
            name: endpoint.redacted(replace_surrogates(value))
            for name, value in content.items()
            if isinstance(value, str) and name != "label"  # a label comes from the rubric
        }
        record = {"key": key, "outcome": "ok", "said": content | texts}
    model = endpoint.other_name(reply)
    return record if model is None else record | {"model": model}


async def decide(
    reply_to: Callable[[Question], Awaitable[Record]],
    question: Question,
    first_reason: str | None,
    keep_first: Callable[[Record], None],
) -> Record:
    """Return the record of a question, whose outcome is `ok`, `unscored` or `error`.

    Args:
        reply_to: function that sends a question and returns the record of the reply.
        question: the question to decide.
        first_reason: why an earlier first reply could not be read, or None without one.
        keep_first: function called with the first record if its reply cannot be read.
    """
    try:
        if first_reason is None:
            first = await reply_to(question)
            if first["outcome"] != "unclear":
                return first
            keep_first(first)
            first_reason = str(first["reason"])
        second = await reply_to(repaired(question, first_reason))
    except UnscoredError as error:
        key, text = question.key, str(error)
        return {"key": key, "outcome": "unscored", "reason": error.why, "reply": text}
    except EndpointError as error:
        return {"key": question.key, "outcome": "error", "reason": str(error)}
    return second if second["outcome"] == "ok" else left_open(second, first_reason)


def left_open(second: Record, first_reason: str) -> Record:
    """Return the unscored record of a question whose second reply cannot be read either."""
    why = f"{first_reason}; asked again: {second['reason']}"
    return second | {"outcome": "unscored", "reason": why}
