"""What an engine returns for a request."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from userturn.models.requests import Request


@dataclass(frozen=True)
class Completion:
    """What an engine wrote for one request.

    Attributes:
        token_ids: all tokens written, the stop token included.
        finish_reason: `stop`, `length`, or `error`.
        error: what went wrong, where the engine refused or lost the request.
    """

    token_ids: tuple[int, ...]
    finish_reason: str
    error: str | None = None


# Yields what has finished, and None after a step, so that its caller may stop between two steps.
Engine = Callable[[Iterable[Request]], Iterator[tuple[Request, Completion] | None]]


def refusal(error: Exception) -> Completion:
    """Return the completion of a request that the engine would not take."""
    return Completion((), "error", f"{type(error).__name__}: {error}")
