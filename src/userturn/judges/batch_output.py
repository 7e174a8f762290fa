"""What a batch has brought: its replies, or why they cannot be read for now.

Output that is absent or has a wrong form may be right at a later look.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import openai

from userturn.endpoints.http_replies import Received, error_in, replace_surrogates, why_unscored
from userturn.judges.batch_files import Batch
from userturn.judges.decisions import Record
from userturn.judges.parse_reply import read_reply
from userturn.judges.session import ChatEndpoint, Session, left_open, record_of

# The last three are of servers like OpenAI's.
RUNNING = ("validating", "in_progress", "finalizing", "cancelling", "queued", "pending",
           "processing")  # fmt: skip
CUT_SHORT = ("failed", "expired", "cancelled", "canceled")  # may lack replies for good
ABSENT = (404, 410)  # statuses
KEY = re.compile(r"[0-9a-f]{64}")


class RefusedError(Exception):
    """A file from which the API will never make a batch."""


class UnreadError(Exception):
    """Output that cannot be read now but perhaps later. `replies` are those that could be read."""

    def __init__(self, why: str, replies: "Replies | None" = None) -> None:
        """Take the reason, and the replies by key."""
        super().__init__(why)
        self.replies = replies or {}


class RunningError(UnreadError):
    """A batch that has not ended yet."""


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Raise an `UnreadError` if an answer of the API is absent or has a wrong form."""
    try:
        yield
    except (openai.APIStatusError, ValueError, AttributeError, TypeError, LookupError) as error:
        if isinstance(error, openai.APIStatusError) and error.status_code not in ABSENT:
            raise
        text = f"{type(error).__name__}: {error}"
        raise UnreadError(f"what the API says of {what} cannot be read ({text})") from None


def id_of(created: Any, endpoint: ChatEndpoint) -> str:
    """Return the id of a new file or batch, or raise ValueError if it is none or has an API key."""
    name = created.id
    if not isinstance(name, str) or not name or endpoint.redacted(name) != name:
        raise ValueError("no id that can be noted")
    return name


class BatchReply(NamedTuple):
    """One reply of a batch."""

    key: str
    status: int  # HTTP status of the response, 0 without one
    body: bytes
    text: str  # the API's message if the status is not 200


Replies = Mapping[str, BatchReply]
"""Replies by key."""


def read_line(line: bytes) -> BatchReply | None:
    """Return the reply in a line of a batch's output, or None if it cannot be read."""
    try:
        parsed: Any = json.loads(line)
        key, response = parsed["custom_id"], parsed.get("response") or {}
        status, body = response.get("status_code", 0), response.get("body")
        text = json.dumps(parsed.get("error") or body)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(key, str) or not KEY.fullmatch(key) or not isinstance(status, int):
        return None
    return BatchReply(key, status, json.dumps(body).encode(), text)


def read_questions(reader: Any, one: Batch, session: Session) -> Batch:
    """Return a batch with the keys and sizes of its questions, read from its file.

    Raises:
        UnreadError: the API does not give the file.
    """
    with readable(f"the questions of {one.file}"):
        lines = reader.files.content(one.file).content.splitlines()
        keys = tuple(str(json.loads(line)["custom_id"]) for line in lines)
        if not keys:
            raise ValueError("no question")
    sizes, most = tuple(map(len, lines)), one.max_output or session.endpoint.max_output
    return replace(one, keys=keys, sizes=sizes, max_output=most)


def read_output(reader: Any, one: Batch, is_last: bool) -> tuple[str, Replies]:
    """Return how a batch ended, and its replies, at one look.

    Raises:
        RunningError: it has not ended.
        UnreadError: a question has no reply, and this is not the last look or nothing explains it.
        RefusedError: the API did not begin the batch.
    """
    with readable(f"the state of {one.batch}"):
        state = reader.batches.retrieve(one.batch)
        if state.status in RUNNING:
            raise RunningError(state.status)
        if state.status not in ("completed", *CUT_SHORT):
            raise UnreadError(f"its state is {state.status!r}")
        replies: dict[str, BatchReply] = {}
        for name in filter(None, (state.output_file_id, state.error_file_id)):
            for line in reader.files.content(name).content.splitlines():
                if (reply := read_line(line)) is not None:
                    replies.setdefault(reply.key, reply)  # the first of two counts
    n = len(one.keys)
    n_lost = len({*one.keys} - replies.keys())
    if n_lost and not (is_last and _is_final(state, n, replies)):
        why = f"{state.status}, without a reply to {n_lost} of {n} questions"
        raise UnreadError(why, replies)
    if state.status == "failed" and not replies:
        errors = getattr(getattr(state, "errors", None), "data", None) or []
        reasons = (f"{error.message} ({error.code})" for error in errors)
        raise RefusedError("; ".join(reasons) or "the API gives no reason")
    return state.status, replies


def _is_final(state: Any, n: int, replies: Replies) -> bool:
    """Return whether a batch's counts explain its missing replies to some of n questions."""
    counts = getattr(state, "request_counts", None)
    total, n_good, n_bad = (
        getattr(counts, name, None) for name in ("total", "completed", "failed")
    )
    is_cut = state.status in CUT_SHORT
    if total == n and type(n_good) is type(n_bad) is int and (is_cut or n_good + n_bad == n):
        return sum(200 <= reply.status < 300 for reply in replies.values()) >= n_good
    return is_cut


def record_of_reply(
    reply: BatchReply, session: Session, first_reason: str | None
) -> tuple[Record, Mapping[str, Any] | None]:
    """Return the journal's record of a reply, and its usage or None if nothing was billed.

    `first_reason` says why the first reply could not be read, if this reply answers a repair.
    """
    received, is_good = Received(reply.body), 200 <= reply.status < 300
    parsed, usage = read_reply(received)
    error = error_in(received) if is_good else (reply.status, reply.text)
    if error is None:
        record = record_of(reply.key, parsed, session.read, session.endpoint)
        is_left_open = first_reason is not None and record["outcome"] != "ok"
        return left_open(record, first_reason or "") if is_left_open else record, usage
    status, message = error
    what = "an error in a reply" if is_good else f"status {status}"
    text = session.endpoint.redacted(f"batch: {what}: {replace_surrogates(message)}", 300)
    record = {"key": reply.key, "outcome": "error", "reason": text}
    if (why := why_unscored(message)) is not None:
        record = {"key": reply.key, "outcome": "unscored", "reason": why, "reply": text}
    return record, usage if is_good else None
