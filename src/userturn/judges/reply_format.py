"""How a kind of judge is asked over HTTP, and how its replies are read."""

from collections.abc import Callable
from typing import NamedTuple

from userturn.judges.chat_endpoint import ChatEndpoint
from userturn.judges.decide import Read
from userturn.judges.question import JudgePrompt


class ReplyFormat(NamedTuple):
    """The replies that a judge is asked for.

    Attributes:
        prompt: the prompt of its questions.
        open_endpoint: returns the endpoint, not yet open, at a URL, for so many requests at once.
        read: parses its replies.
    """

    prompt: JudgePrompt
    open_endpoint: Callable[[str, int], ChatEndpoint]
    read: Read
