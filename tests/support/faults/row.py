"""One fault: what is said to every request, and how a question must end."""

import json
from typing import Any, NamedTuple

from tests.support.judge_server import GENUINE, USAGE, http

GOOD = json.dumps(GENUINE)
GENERIC = json.dumps({"rationale": "Thanks.", "label": "generic", "genuine": False})
NO_CONTENT = "the reply has no content"
NO_OBJECT = "the reply is not one JSON object"
CUT = "the reply was cut off"
KEYS = "the object's keys are not"
LABEL = "the label is none of the rubric's"
RATIONALE = "the rationale is not text"
REFUSED = "the judge refused"
TOO_LONG = "the conversation is longer"


class Bill(NamedTuple):
    """Tokens and money of one request, at prices of 1, 0.5 (cached) and 10 for a million tokens."""

    n_read: int
    n_cached: int
    n_written: int
    money: float


COUNTED = Bill(900, 512, 40, 0.001044)  # 388 + 512 / 2 + 40 * 10 millionths
UNCACHED = Bill(900, 0, 40, 0.0013)
FREE = Bill(0, 0, 0, 0)
BOUND = None  # not told: a token a byte that was sent, and the limit or a token a byte received


class Fault(NamedTuple):
    """A row of the matrix.

    Attributes:
        says: the body of a chat completion, or a whole HTTP response; None hangs up.
        end: the label, or how the reason begins why there is none.
        n_requests: that the question takes.
        bill: of each of them.
        n_in_batches: requests where the question goes through the Batch API.
    """

    says: Any
    end: str
    n_requests: int
    bill: Bill | None
    n_in_batches: int

    @property
    def response(self) -> bytes | None:
        """The whole HTTP response."""
        if self.says is None or isinstance(self.says, bytes):
            return self.says
        return http(200, json.dumps(self.says).encode())


def chat(content: Any, finish_reason: Any = "stop", usage: Any = USAGE, **message: Any) -> Any:
    """Return the body of a chat completion; `...` leaves a part out."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}}
    if finish_reason is not ...:
        choice["finish_reason"] = finish_reason
    body = {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}
    return body if usage is ... else body | {"usage": usage}


def verdict(says: Any, bill: Bill | None = COUNTED, label: str = "genuine_followup") -> Fault:
    """A reply that counts in spite of what is odd about it."""
    return Fault(says, label, 1, bill, 1)


def twice(says: Any, reason: str, bill: Bill | None = COUNTED) -> Fault:
    """A reply that cannot be read: it is asked for once more, and then there is no verdict."""
    return Fault(says, reason, 2, bill, 2)


def final(says: Any, reason: str, bill: Bill | None = COUNTED) -> Fault:
    """A reply after which asking again is no use: no verdict at once."""
    return Fault(says, reason, 1, bill, 1)


def again(says: Any, reason: str, bill: Bill | None = BOUND) -> Fault:
    """An error that may pass: tried three times, or in two batches; the next run asks again."""
    return Fault(says, f"judge error: {reason}", 3, bill, 2)


def fails(says: Any, reason: str, bill: Bill | None = FREE) -> Fault:
    """An error that another attempt will not mend: the next run asks again."""
    return Fault(says, f"judge error: {reason}", 1, bill, 2)
