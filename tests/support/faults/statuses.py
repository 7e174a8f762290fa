"""HTTP statuses, with what providers say beside them."""

import json
from typing import Any

from tests.support.faults.row import (
    BOUND,
    FREE,
    GOOD,
    NO_CONTENT,
    REFUSED,
    TOO_LONG,
    Fault,
    again,
    chat,
    fails,
    final,
    twice,
    verdict,
)
from tests.support.judge_server import http

NEVER = (300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 406, 410, 411, 413, 414,
         415, 418, 422, 431, 451)  # fmt: skip
OVER = (408, 409, 425, 429, 500, 501, 502, 503, 504, 507, 520, 522, 524, 529)


def error(status: int, /, **told: Any) -> bytes:
    """Return an error as most providers have it."""
    return http(status, json.dumps({"error": told}).encode())


def of(status: int) -> str:
    """Return how a reason begins that names a status."""
    return f"status {status}: "


def elsewhere(status: int) -> Fault:
    """A redirect, which is never followed: the key goes nowhere else."""
    response = http(status, b"", "Location: http://127.0.0.1:1/v1/chat/completions")
    return fails(response, of(status))


def wait(*headers: str) -> Fault:
    """Too many requests, with a word on how long to wait."""
    return again(http(429, b"slow down", *headers), of(429), FREE)


LONG = "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"
STATUSES = {
    **{f"status {status}": fails(http(status, b"no"), of(status)) for status in NEVER},
    **{f"status {status}": again(http(status, b"no"), of(status), FREE) for status in OVER},
    **{f"redirect {status}": elsewhere(status) for status in (301, 302, 303, 307, 308)},
    "status 200 after 100": verdict(
        b"HTTP/1.1 100 Continue\r\n\r\n" + http(200, json.dumps(chat(GOOD)).encode())
    ),
    **{
        f"status {status} with a completion": verdict(http(status, json.dumps(chat(GOOD)).encode()))
        for status in (201, 202, 203, 206)
    },
    "status 304": fails(b"HTTP/1.1 304 X\r\n\r\n", of(304)),
    "status 204": twice(b"HTTP/1.1 204 X\r\n\r\n", NO_CONTENT, BOUND),
    "status 500 with a completion": again(
        http(500, json.dumps(chat(GOOD)).encode()), of(500), FREE
    ),
    "status 503 with a page": again(http(503, b"<html>sorry</html>"), of(503), FREE),
    "status 422 of vLLM": fails(http(422, b'{"detail": [{"msg": "field required"}]}'), of(422)),
    "too long, OpenAI": final(
        error(400, code="context_length_exceeded", message="too long"), TOO_LONG, FREE
    ),
    "too long, vLLM": final(error(400, message=LONG, code=400), TOO_LONG, FREE),
    "too long, 413": final(error(413, message="Request is too long"), TOO_LONG, FREE),
    "too long, 422": final(error(422, message="too many input tokens"), TOO_LONG, FREE),
    "filtered, Azure's inner error": final(
        error(400, innererror={"code": "ResponsibleAIPolicyViolation"}), REFUSED, FREE
    ),
    "filtered, DashScope": final(error(400, code="data_inspection_failed"), REFUSED, FREE),
    "no money, hard limit": fails(error(400, code="billing_hard_limit_reached"), of(400)),
    "Retry-After: 0.01": wait("Retry-After: 0.01"),
    "Retry-After: -5": wait("Retry-After: -5"),
    "Retry-After: nan": wait("Retry-After: nan"),
    "Retry-After beyond all dates": wait("Retry-After: Wed, 21 Oct 99999 07:28:00 GMT"),
    "Retry-After: 1e999": wait("Retry-After: 1e999"),
    "retry-after-ms": wait("retry-after-ms: 10"),
    "retry-after-ms odd": wait("retry-after-ms: x", "Retry-After: 0"),
}  # fmt: skip
