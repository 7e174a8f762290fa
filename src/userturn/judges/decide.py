"""Turn one question into one record: a usable reply, one repair, or the reason for neither."""

from collections.abc import Awaitable, Callable

from userturn.endpoints.http_errors import EndpointError, UnscoredError
from userturn.endpoints.response_body import without_surrogates
from userturn.judges.chat_endpoint import ChatEndpoint
from userturn.judges.decisions import Outcome, Record, Said
from userturn.judges.parse_reply import Reply, UnclearReplyError
from userturn.judges.question import Question

Read = Callable[[Reply], Said]
"""Parses a reply, or raises UnclearReplyError."""

REPAIR = (
    "\n\nAn earlier reply to this could not be used: {reason}. Reply with the one JSON object that "
    "is asked for and nothing else."
)


def repaired(question: Question, reason: str) -> Question:
    """Return the repair of a question: the same question with what was wrong with the first reply.

    The text is added to the last message, because some chat templates refuse two user messages in a
    row, and others an empty assistant message.
    """
    *before, last = question.messages
    again = {"role": last["role"], "content": last["content"] + REPAIR.format(reason=reason)}
    return Question(question.key, (*before, again))


def record_of(key: str, reply: Reply, read: Read, endpoint: ChatEndpoint) -> Record:
    """Return the journal's record of a reply, without the endpoint's key in any of its texts.

    Its outcome is `ok`, `unscored` if asking again is useless, else `unclear`.
    """
    model = endpoint.other_name(reply)
    record = _record_of(key, reply, read, endpoint)
    return record if model is None else record | {"model": model}


def _record_of(key: str, reply: Reply, read: Read, endpoint: ChatEndpoint) -> Record:
    try:
        said = read(reply)
    except UnclearReplyError as error:
        outcome: Outcome = "unscored" if error.final else "unclear"
        raw = endpoint.redacted(reply.refusal or reply.raw if error.final else reply.raw)
        return {"key": key, "outcome": outcome, "reason": str(error), "reply": raw}
    texts = {
        name: endpoint.redacted(without_surrogates(value))
        for name, value in said.items()
        if isinstance(value, str) and name != "label"  # a label comes from the rubric
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
        reply_to: sends a question and returns the record of the reply.
        question: the question to decide.
        first_reason: why an earlier first reply could not be read; None without one.
        keep_first: is called with the first reply if that cannot be read.
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
