"""Replies that say how many tokens they took in another form than expected, or not at all."""

from typing import Any

from tests.support.faults.row import BOUND, COUNTED, GOOD, UNCACHED, Bill, Fault, chat, verdict

TWO = {"prompt_tokens": 900, "completion_tokens": 40}


def odd(usage: Any) -> Fault:
    """A usage that is no count: the verdict counts, and costs as much as it can."""
    return verdict(chat(GOOD, usage=usage), BOUND)


def told(usage: Any, bill: Bill) -> Fault:
    """A usage that is a count."""
    return verdict(chat(GOOD, usage=usage), bill)


def cached(details: Any, bill: Bill = UNCACHED) -> Fault:
    """A count whose part that was in the cache is odd."""
    return told(TWO | {"prompt_tokens_details": details}, bill)


USAGES = {
    "usage as it should be": verdict(chat(GOOD), COUNTED),
    "usage missing": odd(...),
    "usage null": odd(None),
    "usage a list": odd([900, 40]),
    "usage a string": odd("900"),
    "usage of strings": odd({"prompt_tokens": "900", "completion_tokens": "40"}),
    "usage of floats": odd({"prompt_tokens": 900.0, "completion_tokens": 40.0}),
    "usage of zeros": odd({"prompt_tokens": 0, "completion_tokens": 0}),
    "usage NaN": odd({"prompt_tokens": float("nan"), "completion_tokens": 40}),
    "usage negative": odd({"prompt_tokens": -900, "completion_tokens": 40}),
    "usage of booleans": odd({"prompt_tokens": True, "completion_tokens": True}),
    "usage total only": odd({"total_tokens": 940}),
    "usage of Anthropic": odd({"input_tokens": 900, "output_tokens": 40}),
    "usage input only": odd({"prompt_tokens": 900}),
    "usage 10**12 read": odd({"prompt_tokens": 10**12, "completion_tokens": 5}),
    "usage 10**400": odd({"prompt_tokens": 10**400, "completion_tokens": 5}),
    "usage total 10**12": odd(TWO | {"total_tokens": 10**12}),
    "usage total too small": told(TWO | {"total_tokens": 3}, UNCACHED),
    "usage with thoughts in the total": told(
        TWO | {"total_tokens": 1_500}, Bill(900, 0, 600, 0.0069)
    ),
    "usage beyond the reply's limit": told(
        {"prompt_tokens": 900, "completion_tokens": 5_000}, Bill(900, 0, 5_000, 0.0509)
    ),
    "usage nothing written": odd({"prompt_tokens": 900, "completion_tokens": 0}),
    "usage less written than there is": odd({"prompt_tokens": 900, "completion_tokens": 5}),
    "usage details null": cached(None),
    "usage cached a string": cached({"cached_tokens": "512"}),
    "usage cached negative": cached({"cached_tokens": -1}),
    "usage cached all of it": cached({"cached_tokens": 900}, Bill(900, 900, 40, 0.00085)),
    "usage cached beside what was read": odd(
        {
            "prompt_tokens": 388,
            "completion_tokens": 40,
            "prompt_tokens_details": {"cached_tokens": 512},
        }
    ),
    "usage cached beyond what was read": odd(
        TWO | {"prompt_tokens_details": {"cached_tokens": 10**6}}
    ),
    "usage cached of DeepSeek": told(TWO | {"prompt_cache_hit_tokens": 512}, UNCACHED),
}
