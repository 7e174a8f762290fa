"""Token counts of requests to judges and served models, and their cost."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil
from operator import add, sub
from typing import Any, NamedTuple

from userturn.config.keys import Prices

MILLION = 1e6
UNLIMITED = 128_000  # tokens that a reply without a limit may have
# A larger count is taken for a mistake: a token has at least one byte, and the system prompt that
# an endpoint may add is shorter.
TOKENS_PER_BYTE, TOKENS_OF_A_HIDDEN_PROMPT = 10, 10_000

# A reply without a count has at most as many times its limit. Further bytes are no tokens.
OVERRUN = 4
# Replies needed to bound requests of unknown end, and the margin on the replies' largest share.
ENOUGH_SEEN, MARGIN = 20, 2.0
CHARACTERS_PER_TOKEN = 12  # at most, over a whole question; words of English have four
TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")  # in the settings of a judge's requests

Price = Prices


@dataclass
class Spent:
    """Counts of one account or of several.

    Attributes:
        n_requests: requests sent, including failed ones.
        n_unmetered: requests without a plausible token count that may have been billed, because of
            a timeout, a broken connection or a kill. Each counts as the most tokens possible.
        n_verdicts: questions that ended with a decision.
        input_tokens: tokens read by the judge, including cached ones.
        cached_tokens: input tokens that the endpoint had in its cache.
        output_tokens: tokens written by the judge, including its reasoning.
        seconds: time for which each account was open.
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
        return Spent(*map(add, vars(self).values(), vars(other).values()))

    def __sub__(self, other: "Spent") -> "Spent":
        """Return the difference of two counts."""
        return Spent(*map(sub, vars(self).values(), vars(other).values()))


def most_written(entry: Mapping[str, Any]) -> int:
    """Return the largest number of tokens in a reply that an entry's settings allow."""
    limits = [entry["settings"].get(name) for name in TOKEN_LIMITS]
    return next((limit for limit in limits if isinstance(limit, int)), UNLIMITED)


def money(spent: Spent, price: Price) -> float:
    """Return the cost of tokens, by the price per million input, cached and output tokens."""
    cached = price.get("cached_input", price["input"]) * spent.cached_tokens
    fresh = price["input"] * (spent.input_tokens - spent.cached_tokens)
    return (fresh + cached + price["output"] * spent.output_tokens) / MILLION


def largest_request(n_bytes: int, max_output: int) -> Spent:
    """Return the largest count of a request, since a token has at least one byte."""
    return Spent(1, 1, 0, n_bytes, 0, max_output)


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def tokens_read(usage: Mapping[str, Any]) -> int | None:
    """Return the number of tokens that an endpoint read, or None without a plausible number."""
    return _count(usage.get("prompt_tokens")) or None


def tokens_written(usage: Mapping[str, Any]) -> int | None:
    """Return the number of tokens that an endpoint wrote, or None without one.

    It includes tokens that are only in the total: Gemini and some gateways leave reasoning out of
    the other counts.
    """
    n_read, n_written = tokens_read(usage), _count(usage.get("completion_tokens"))
    if n_read is None or n_written is None:
        return None
    return max(n_written, (_count(usage.get("total_tokens")) or 0) - n_read)


def was_cut(n_read: int | None, texts: Iterable[str]) -> bool:
    """Return whether an endpoint read so few tokens that it must have left out most of a prompt.

    Some servers cut a prompt to their context without notice. Of repeated characters, at most three
    are counted, since one token may hold many of them.
    """
    n_characters = sum(
        len(re.sub(r"(.)\1{3,}", r"\1\1\1", text, flags=re.DOTALL)) for text in texts
    )
    return n_read is not None and n_characters > CHARACTERS_PER_TOKEN * n_read


def metered(usage: Mapping[str, Any], most: Spent) -> Spent | None:
    """Return one request with the endpoint's token counts, or None without plausible counts.

    Implausible are fractions, no input tokens, far more tokens than were sent, and more cached
    tokens than were read, as from a gateway that leaves cached tokens out of the input tokens.
    `most` is the largest count of the request.
    """
    n_read, n_written = tokens_read(usage), tokens_written(usage)
    if n_read is None or n_written is None:
        return None
    most_read = TOKENS_OF_A_HIDDEN_PROMPT + TOKENS_PER_BYTE * most.input_tokens
    if n_read > most_read or n_written > max(UNLIMITED, most.output_tokens):
        return None
    details = usage.get("prompt_tokens_details")
    told = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    n_cached = told or 0
    return Spent(1, 0, 0, n_read, n_cached, n_written) if n_cached <= n_read else None


def unmetered(most: Spent, n_bytes_received: int) -> Spent:
    """Return one request without a plausible count at its largest size.

    A token has at least one byte, so the size of the reply bounds the tokens that an endpoint may
    have written beyond its limit.
    """
    n_written = min(n_bytes_received, OVERRUN * most.output_tokens)
    return replace(most, output_tokens=max(most.output_tokens, n_written))


class Seen(NamedTuple):
    """The number of replies with a count, and their largest shares of the possible tokens."""

    n: int = 0
    read: float = 0.0  # the largest share
    written: float = 0.0

    def and_one(self, counted: Spent, most: Spent) -> "Seen":
        """Return the same with one more reply."""
        read, written = counted.input_tokens, counted.output_tokens
        of_read = ceil(1000 * read / (most.input_tokens or 1)) / 1000
        of_written = ceil(1000 * written / (most.output_tokens or 1)) / 1000
        return Seen(self.n + 1, max(self.read, of_read), max(self.written, of_written))

    def and_all(self, other: "Seen") -> "Seen":
        """Return the same with the replies of another account."""
        return Seen(self.n + other.n, max(self.read, other.read), max(self.written, other.written))

    def bound(self, most: Spent) -> Spent:
        """Return the likely largest count of requests of unknown end.

        Where a reply went beyond what is possible, others may go as far.
        """
        shares = (self.read, self.written)
        likely = [min(1.0, MARGIN * share) if self.n >= ENOUGH_SEEN else 1.0 for share in shares]
        read, written = map(max, shares, likely)
        return replace(
            most,
            input_tokens=ceil(read * most.input_tokens),
            output_tokens=ceil(written * most.output_tokens),
        )


NOTHING_SEEN = Seen()
