"""Requests made of token ids alone."""

from userturn.models.requests import Request, Sampling, make_request
from userturn.prompts.chat_template import Prompt


def request_of(number: int, ids: tuple[int, ...], sampling: Sampling) -> Request:
    """Return a request whose item is a number, which seeds it if it is sampled."""
    seeded = Sampling(**vars(sampling) | {"seed": number if sampling.temperature else None})
    return make_request({}, "d", str(number), 0, Prompt("", ids), seeded)
