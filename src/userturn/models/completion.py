"""What an engine returns for a request: the tokens it wrote, or the scores of a given text."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from userturn.models.requests import Request
from userturn.models.scoring import ScoringRequest


@dataclass(frozen=True)
class Completion:
    """The result of one request.

    Attributes:
        token_ids: all tokens written, the stop token included.
        finish_reason: `stop`, `length`, `scored`, or `error`.
        error: what went wrong, if the engine refused or lost the request.
        logprobs: log-likelihood in nats of each scored token; only for a scoring request.
    """

    token_ids: tuple[int, ...]
    finish_reason: str
    error: str | None = None
    logprobs: tuple[float, ...] = ()


AnyRequest = Request | ScoringRequest

# Yields finished requests, and None after each step, so that its caller may stop between steps.
Engine = Callable[[Iterable[AnyRequest]], Iterator[tuple[AnyRequest, Completion] | None]]


def refusal(error: Exception) -> Completion:
    """Return the completion of a request that the engine refused."""
    return Completion((), "error", f"{type(error).__name__}: {error}")


def scores(logprobs: Iterable[float]) -> Completion:
    """Return the completion of a scoring request."""
    return Completion((), "scored", logprobs=tuple(logprobs))
