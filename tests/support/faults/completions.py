"""Faults of a model's server: what each makes of a good reply, and what the error then says.

A fault takes the reply that should be given and the request, and returns a response; None hangs up.
"""

import gzip
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from tests.support.completion_server import KEY, as_http
from tests.support.judge_server import BREAKS_OFF, DRIP, HANG, Asked, http

Fault = Callable[[dict[str, Any], Asked], bytes | None]
BROKE = "the connection broke"
NO_COMPLETION = "the reply is no completion"
NO_IDS = "within the vocabulary"


def changed(**choice: Any) -> Fault:
    """Return a fault of the reply's choice."""

    def fault(reply: dict[str, Any], _: Asked) -> bytes:
        return as_http({**reply, "choices": [reply["choices"][0] | choice]})

    return fault


def replaced(**field: Any) -> Fault:
    """Return a fault of the reply's own fields."""
    return lambda reply, _: as_http(reply | field)


def said(status: int, body: bytes, *headers: str) -> Fault:
    """Return a fault that takes no notice of the request."""
    return lambda reply, _: http(status, body, *headers)


def read_otherwise(reply: dict[str, Any], _: Asked) -> bytes:
    """Read a second token that begins a text."""
    choice, usage = reply["choices"][0], reply["usage"]
    ids = [0, *choice["prompt_token_ids"]]
    count = usage | {"prompt_tokens": len(ids)}
    return as_http(reply | {"choices": [choice | {"prompt_token_ids": ids}], "usage": count})


def goes_on(reply: dict[str, Any], _: Asked) -> bytes:
    """Write on after the token that ends the turn."""
    choice = reply["choices"][0]
    return as_http(reply | {"choices": [choice | {"token_ids": choice["token_ids"] * 2}]})


def in_chunks(reply: dict[str, Any], _: Asked) -> bytes:
    """Break off in the middle of a body of chunks."""
    head = b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return BREAKS_OFF + head + b"400\r\n" + json.dumps(reply).encode()[:200]


def as_stream(reply: dict[str, Any], _: Asked) -> bytes:
    """Send events, although none were asked for."""
    body = f"data: {json.dumps(reply)}\n\ndata: [DONE]\n\n"
    return http(200, body.encode(), "Content-Type: text/event-stream")


@cache
def bomb() -> bytes:
    """Return what unpacks to more than the 64 MB that are read of a reply."""
    return gzip.compress(bytes(80_000_000), 1)


GZIP = "Content-Encoding: gzip"
NEVER: dict[str, tuple[Fault, str]] = {  # taken, and not asked again in the same sweep
    "other ids": (changed(token_ids=[1, 2, 3]), "decode to another text"),
    "ids outside the vocabulary": (changed(token_ids=[10**6]), NO_IDS),
    "an id below 0": (changed(token_ids=[-1]), NO_IDS),
    "booleans": (changed(token_ids=[True]), NO_IDS),
    "fractions": (changed(token_ids=[1.0, 2.0]), NO_IDS),
    "lists of ids": (changed(token_ids=[[1], [2]]), NO_IDS),
    "ids as text": (changed(token_ids="1 2 3"), NO_IDS),
    "no ids": (changed(token_ids=None), NO_IDS),
    "nothing written": (changed(token_ids=[], text=""), "which is not as this turn ends"),
    "on after the end": (goes_on, "decode to another text"),
    "other text": (changed(text="I am another."), "decode to another text"),
    "no text": (changed(text=None), "finish_reason 'stop'; expected"),
    "half a character": (changed(text="Why \ud83d"), "half a character"),
    "a strange end": (changed(finish_reason="content_filter"), "finish_reason 'content_filter'"),
    "no end": (changed(finish_reason=None), "finish_reason None"),
    "a list of ends": (changed(finish_reason=["stop"]), r"finish_reason \['stop'\]"),
    "a cut turn": (changed(finish_reason="length"), "a limit of its own"),
    "second BOS": (read_otherwise, "read other tokens than were sent"),
    "prompt of another": (changed(prompt_token_ids=[5, 6]), "read other tokens than were sent"),
    "no prompt": (changed(prompt_token_ids=None), "read other tokens than were sent"),
    "wrong count": (replaced(usage={"prompt_tokens": 7}), "read 7 tokens"),
    "no number": (replaced(usage={"prompt_tokens": float("nan")}), "read nan tokens"),
    "two choices": (replaced(choices=[{}, {}]), NO_COMPLETION),
    "no choice": (replaced(choices=[]), NO_COMPLETION),
    "choices by name": (replaced(choices={"0": {}}), NO_COMPLETION),
    "a choice of text": (replaced(choices=["Why?"]), NO_COMPLETION),
    "a list": (lambda reply, _: http(200, json.dumps([reply]).encode()), NO_COMPLETION),
    "other model": (replaced(model="big"), "'big' answered"),
    "a page": (said(200, b"<html>Log in</html>"), "is no completion: '<html>Log in"),
    "an empty body": (said(200, b""), NO_COMPLETION),
    "no content": (said(204, b""), NO_COMPLETION),
    "no UTF-8": (said(200, b'{"choices": [{"text": "\xff"}]}'), NO_COMPLETION),
    "lists without end": (said(200, b"[" * 200_000), NO_COMPLETION),
    "a number without end": (said(200, b'{"choices": ' + b"9" * 5000 + b"}"), NO_COMPLETION),
    "events": (as_stream, NO_COMPLETION),
    "redirect": (said(307, b"", "Location: http://127.0.0.1:1/v1/completions"), "status 307"),
    "key comes back": (said(401, KEY.encode()), r"\[key\]"),
    "gzip bomb": (lambda reply, _: http(200, bomb(), GZIP), f"{NO_COMPLETION}|no whole reply"),
}
AGAIN: dict[str, tuple[Fault, str]] = {  # asked again at once: the second attempt may be whole
    "half a reply": (lambda reply, _: BREAKS_OFF + as_http(reply)[:-20], BROKE),
    "half of the chunks": (in_chunks, BROKE),
    "no reply": (lambda reply, _: None, BROKE),
    "no HTTP": (lambda reply, _: b"hello\r\n\r\n", BROKE),
    "no gzip": (said(200, b"{}", GZIP), BROKE),
    "an unknown encoding": (said(200, b"{}", "Content-Encoding: br"), BROKE),
    "headers without end": (said(200, b"{}", "X: " + "x" * 100_000), BROKE),
    "429 storm": (said(429, b"slow down"), "status 429"),
    "an error that is no error": (replaced(error={"code": 503, "message": "busy"}), "in a reply"),
}
TOO_SLOW: dict[str, Fault] = {
    "slow drip": lambda reply, _: DRIP + as_http(reply),
    "silence": lambda reply, _: HANG,
}
