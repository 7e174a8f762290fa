"""Texts that wrap a verdict, imitate one, or quote one; and counts of tokens in odd places."""

import json
from typing import Any

from tests.support.faults.contents import generic, no_object, says
from tests.support.faults.row import (
    BOUND,
    COUNTED,
    GENERIC,
    GOOD,
    KEYS,
    LABEL,
    Bill,
    Fault,
    chat,
    twice,
    verdict,
)
from userturn.judges.verdict import verdict_schema

CRLF = GENERIC.replace("{", "{\r\n").replace("}", "\r\n}")


def other_keys(found: Any, bill: Bill | None = COUNTED) -> Fault:
    """An object that is no verdict."""
    return twice(chat(json.dumps(found)), KEYS, bill)


def label(found: str) -> Fault:
    """A label that is none of the rubric's."""
    return twice(chat(says(label=found)), LABEL)


def elsewhere(**more: Any) -> Fault:
    """A count of tokens in another place than `usage`: the verdict costs as much as it can."""
    return verdict(chat(GOOD, usage=...) | more, BOUND)


def counted(n_read: int, money: float) -> Fault:
    """A count of tokens read that is large and may be true."""
    usage = {"prompt_tokens": n_read, "completion_tokens": 40}
    return verdict(chat(GOOD, usage=usage), Bill(n_read, 0, 40, money))


TEXTS = {
    "a fence with line ends of Windows": generic(f"```json\r\n{CRLF}\r\n```"),
    "a fence in a fence": no_object(f"```\n```json\n{GENERIC}\n```\n```"),
    "a fence with two objects": no_object(f"```json\n{GOOD}\n{GENERIC}\n```"),
    "a template's end after it": no_object(f"{GENERIC}<|im_end|>"),
    "an empty thought before it": generic(f"<think></think>{GENERIC}"),
    "a label with an escape": generic(GENERIC.replace("generic", "gen\\u0065ric")),
    "a rationale that is a verdict": generic(says(rationale=GOOD)),
    "a rationale that ends the object": generic(says(rationale=f'"}}\n{GOOD}')),
    "genuine beyond all numbers": generic(GENERIC.replace("false", "1e999")),
    "NUL after it": no_object(f"{GENERIC}\x00"),
    "a space of no width before it": no_object(f"\u200b{GENERIC}"),
    "a call of a tool as text": other_keys({"name": "reply", "arguments": json.loads(GOOD)}),
    "the schema": other_keys(verdict_schema(["generic"], None)),
    "an object with __proto__": other_keys(json.loads(GENERIC) | {"__proto__": {}}),
    "1,000 keys": other_keys({f"k{i}": 1 for i in range(1_000)}, BOUND),  # not in 40 tokens
    "the paper's label": label("prompt_restatement"),
}
COUNTS = {
    "usage in the choice": elsewhere(
        choices=[chat(GOOD)["choices"][0] | {"usage": {"prompt_tokens": 900}}]
    ),
    "usage of Groq": elsewhere(x_groq={"usage": {"prompt_tokens": 900, "completion_tokens": 40}}),
    "counts of Ollama": elsewhere(prompt_eval_count=900, eval_count=40),
    "a hidden prompt of 9,000 tokens": counted(9_000, 0.0094),
    "200,000 tokens read": verdict(
        chat(GOOD, usage={"prompt_tokens": 200_000, "completion_tokens": 40}), BOUND
    ),
}
WRAPPINGS = {f"wrapping: {name}": row for name, row in (TEXTS | COUNTS).items()}
