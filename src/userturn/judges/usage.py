"""What is counted of requests to judges, and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

MILLION = 1e6
UNLIMITED = 128_000  # tokens that a reply without a limit may have
# A count beyond these is taken for a mistake: a token has a byte or more, and a system prompt that
# an endpoint adds is shorter.
TOKENS_PER_BYTE, TOKENS_OF_A_HIDDEN_PROMPT = 10, 10_000

Price = Mapping[str, float]


@dataclass
class Spent:
    """Counts of one account or of several.

    Attributes:
        n_requests: sent, the failed ones included.
        n_unmetered: of them, those whose reply told no tokens, or none that can be, though they
            may have been billed: a timeout, a broken connection, a kill. They count as many tokens
            as they can have.
        n_verdicts: questions that ended with a decision.
        input_tokens: read by the judge, cached ones included.
        cached_tokens: of them, those that the endpoint had in its cache.
        output_tokens: written by the judge, its reasoning included.
        seconds: in which the processes asked.
    """

    n_requests: int = 0
    n_unmetered: int = 0
    n_verdicts: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        """Return the sum of two counts."""
        return Spent(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Spent)))

    def __sub__(self, other: "Spent") -> "Spent":
        """Return what is left of one count without another."""
        return Spent(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(Spent)))


def money(spent: Spent, price: Price) -> float:
    """Return the price of some tokens; `price` is for a million input, cached, output tokens."""
    cached = price.get("cached_input", price["input"]) * spent.cached_tokens
    fresh = price["input"] * (spent.input_tokens - spent.cached_tokens)
    return (fresh + cached + price["output"] * spent.output_tokens) / MILLION


def at_most(n_bytes: int, max_output: int) -> Spent:
    """Return the most that a request may cost: a token has at least one byte."""
    return Spent(1, 1, 0, n_bytes, 0, max_output)


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def metered(usage: Mapping[str, Any], most: Spent) -> Spent | None:
    """Return one request with the tokens that an endpoint counted; None where it did not count.

    What cannot be a count is none: no whole numbers, nothing read, or far more than was sent. What
    `total_tokens` has beyond the other two is output: some gateways leave reasoning out.

    Args:
        usage: as the reply holds it.
        most: what the request was sent with.
    """
    n_read, n_written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if not n_read or n_written is None:
        return None
    n_written = max(n_written, (_count(usage.get("total_tokens")) or 0) - n_read)
    most_read = TOKENS_OF_A_HIDDEN_PROMPT + TOKENS_PER_BYTE * most.input_tokens
    if n_read > most_read or n_written > max(UNLIMITED, most.output_tokens):
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return Spent(1, 0, 0, n_read, min(cached or 0, n_read), n_written)
