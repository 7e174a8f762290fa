"""How a chat template is given the reasoning before an answer, and what it writes around it.

Vendors name it differently, and most leave it out of history once the user has spoken again. So it
is tried: with each word of the template that names reasoning, as a key of the message and as a part
of its content.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from userturn.datasets.messages import REASONING, Message
from userturn.prompts.examples import EXAMPLE, NEXT_USER
from userturn.prompts.tokenize import TemplateError

NAME = re.compile(r"[A-Za-z_]*(?:think|thought|reason)[A-Za-z_]*")
MARK = "Zqreasonsentinelqz"


class ReasoningKey(NamedTuple):
    """Where a template reads the reasoning of an assistant's message.

    Attributes:
        name: of the key, or of the part's type and its text.
        is_part: whether it is a part of the content, before the text.
    """

    name: str
    is_part: bool


def as_given(message: Message, in_parts: bool, key: ReasoningKey | None) -> dict[str, Any]:
    """Return a message as a chat template is given it, without reasoning that it does not read."""
    text = message["content"]
    given: dict[str, Any] = {"role": message["role"], "content": text}
    if in_parts:
        given["content"] = [{"type": "text", "text": text}]
    if key is None or message.get(REASONING) is None:
        return given
    if not key.is_part:
        return given | {key.name: message[REASONING]}
    part = {"type": key.name, key.name: message[REASONING]}
    return given | {"content": [part, {"type": "text", "text": text}]}


Rendered = Callable[[list[Message], ReasoningKey], str]


def reasoning_key(template: str, rendered: Rendered) -> ReasoningKey | None:
    """Return where a template reads reasoning; None if it never writes any.

    Args:
        template: its text.
        rendered: renders a conversation with reasoning at a key; may raise `TemplateError`.
    """
    question, answer = EXAMPLE
    conversations = [[question, {**answer, REASONING: MARK}]]
    conversations.append([*conversations[0], NEXT_USER])
    for key in _keys(template):
        for said in conversations:
            try:
                text = rendered(said, key)
            except TemplateError:
                continue
            behind = text.partition(MARK)[2]
            if text.count(MARK) == 1 and answer["content"].strip() in behind:
                return key
    return None


def _keys(template: str) -> Iterator[ReasoningKey]:
    names = sorted(set(NAME.findall(template)))
    for is_part in (False, True):
        yield from (ReasoningKey(name, is_part) for name in names)


def has_reasoning(message: Mapping[str, str]) -> bool:
    """Return whether a message has reasoning that is more than white space."""
    return bool((message.get(REASONING) or "").strip())
