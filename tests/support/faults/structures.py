"""Bodies with status 200 that are no chat completion, an odd one, or an error."""

from typing import Any

from tests.support.faults.row import (
    BOUND,
    COUNTED,
    GENERIC,
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
from tests.support.judge_server import USAGE


def nothing(body: Any, has_usage: bool = False) -> Fault:
    """A body in which there is no text, with a count of tokens or without."""
    return twice(body, NO_CONTENT, COUNTED if has_usage else BOUND)


def choices(found: Any) -> Any:
    """Return a completion with some choices."""
    return {"choices": found, "usage": USAGE}


IN_REPLY = "an error in a reply"
QUOTA = {"code": "insufficient_quota", "message": "You exceeded your current quota"}
LONG = {"code": "context_length_exceeded", "message": "too long"}
STREAMED = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": GOOD}}]}
BODIES = {
    "a number": nothing(7),
    "a list": nothing([]),
    "an empty object": nothing({}),
    "only usage": nothing({"usage": USAGE}),
    "choices empty": nothing(choices([])),
    "choices a string": nothing(choices("x")),
    "choices an object": nothing(choices({"message": {"content": GOOD}})),
    "choices of nulls": nothing(choices([None])),
    "a choice without a message": nothing(choices([{"finish_reason": "stop"}])),
    "a message that is null": nothing(choices([{"message": None}])),
    "a message without content": nothing(choices([{"message": {"role": "assistant"}}]), True),
    "two choices": verdict(choices([chat(GENERIC)["choices"][0], chat(GOOD)["choices"][0]]),
                           label="generic"),
    "a chunk of a stream": nothing(STREAMED),
    "a reply of the Responses API": nothing({"output": [{"content": [{"text": GOOD}]}]}),
    "an error beside a verdict": again(chat(GOOD) | {"error": {"code": 502}}, IN_REPLY, COUNTED),
    "an error that is null": verdict(chat(GOOD) | {"error": None}),
    "a model of another name": verdict(chat(GOOD) | {"model": "another"}),
    "a model that is a number": verdict(chat(GOOD) | {"model": 5}),
    "half a character in the model": verdict(chat(GOOD) | {"model": "\ud800"}),
    "an error": again({"error": {"message": "overloaded"}}, IN_REPLY),
    "an error that is text": again({"error": "x", "choices": None}, IN_REPLY),
    "an error of code 502": again({"error": {"code": 502, "message": "bad"}}, IN_REPLY),
    "an error of code '429'": again({"error": {"code": "429"}}, IN_REPLY),
    "an error in a choice": again(
        choices([{"error": {"code": 502}, "finish_reason": "error", "message": {"content": ""}}]),
        IN_REPLY, COUNTED,
    ),
    "an error with half a character": again({"error": {"message": "\ud800"}}, IN_REPLY),
    "an error of code 401": fails({"error": {"code": 401}}, IN_REPLY, BOUND),
    "no money": fails({"error": QUOTA | {"code": 429}}, IN_REPLY, BOUND),
    "a context that is too long": final({"error": LONG}, TOO_LONG, BOUND),
    "a context that is too long, code 400": final(
        {"error": {"code": 400, "message": "maximum context length is 8192 tokens"}}, TOO_LONG,
        BOUND,
    ),
    "a filter": final({"error": {"code": 403, "message": "requires moderation"}}, REFUSED, BOUND),
}  # fmt: skip
STRUCTURES = {f"body: {name}": row for name, row in BODIES.items()}
