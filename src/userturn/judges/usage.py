"""What is counted of requests to judges, and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

MILLION = 1e6

Price = Mapping[str, float]


@dataclass
class Spent:
    """Counts of one account or of several.

    Attributes:
        n_requests: sent, the failed ones included.
        n_unmetered: of them, those whose reply told no tokens though they may have been billed:
            a timeout, a broken connection, a kill. Their tokens count as many as they can be.
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


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def metered(usage: Mapping[str, Any]) -> Spent:
    """Return one request with the tokens that an endpoint counted."""
    details = usage.get("prompt_tokens_details") or {}
    n_read = _count(usage.get("prompt_tokens"))
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Spent(1, 0, 0, n_read, min(cached, n_read), _count(usage.get("completion_tokens")))
