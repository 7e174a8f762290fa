"""Conversations as chat templates want them: messages of role and content, the last the user's."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from userturn.errors import UserError
from userturn.unseen import UNSEEN
from userturn.value_kinds import kind_of

Message = Mapping[str, str]  # role and content; of the model's own answers also the reasoning
REASONING = "reasoning"
ROLES = ("system", "user", "assistant")
OTHER_NAMES = {"developer": "system", "prompter": "user"}


class ShownAnswer(NamedTuple):
    """An answer that a model is shown as its own.

    Attributes:
        text: what a user sees of it.
        reasoning: what the model wrote before it, where its template writes that into history;
            else None.
    """

    text: str
    reasoning: str | None = None

    def message(self) -> Message:
        """Return the assistant's message."""
        said = {"role": "assistant", "content": self.text}
        return said if self.reasoning is None else {**said, REASONING: self.reasoning}


def unpacked(value: Any) -> Any:
    """Return a struct, even if it is stored as JSON text, as `datasets` 5 does in Parquet."""
    if isinstance(value, str) and value[:1] == "{":
        with suppress(ValueError):
            return json.loads(value)
    return value


def conversation(messages: Any, where: str) -> list[Message]:
    """Return messages as role and content, with the roles of a chat template.

    Raises:
        UserError: another role, or content that is not text.
    """
    if not isinstance(messages, list):
        raise UserError(f"{where}: messages are {kind_of(messages)}, expected a list")
    taken: list[Message] = []
    for number, message in enumerate(map(unpacked, messages), start=1):
        role = message.get("role") if isinstance(message, dict) else None
        role = OTHER_NAMES.get(role, role) if isinstance(role, str) else None
        if role not in ROLES or not isinstance(message.get("content"), str):
            raise UserError(
                f"{where}: message {number} is not {{role, content}} with text and one of the "
                f"roles {', '.join(ROLES)}; correct or remove that row"
            )
        taken.append({"role": role, "content": message["content"]})
    return taken


def has_text(content: str) -> bool:
    """Tell whether a reader sees anything of a text."""
    return bool(re.sub(UNSEEN, "", content).strip())


def check_ending(messages: Sequence[Message], where: str) -> None:
    """Check that a conversation ends in a user message with text."""
    if not messages or messages[-1]["role"] != "user" or not has_text(messages[-1]["content"]):
        found = f"the role {messages[-1]['role']}" if messages else "no message"
        raise UserError(
            f"{where}: the conversation ends in {found}, expected a user message with text; "
            "correct or remove that row"
        )


def split_reference(messages: Sequence[Message]) -> tuple[list[Message] | None, str | None]:
    """Return the context and text of the first user message that replies to an assistant's."""
    roles = [message["role"] for message in messages]
    for position in range(2, len(messages)):
        if roles[position - 1 : position + 1] == ["assistant", "user"]:
            return list(messages[:position]), messages[position]["content"]
    return None, None


def answer_to(messages: Sequence[Message], context: Sequence[Message] | None) -> str | None:
    """Return the answer that ends a reference context, if it has text and answers the messages."""
    if not context or list(context[:-1]) != list(messages):
        return None
    return context[-1]["content"] if has_text(context[-1]["content"]) else None


def opening(messages: Sequence[Message]) -> str:
    """Return the first user message: the same in all that belongs to one conversation.

    A system prompt or a greeting before it may be the same in all conversations. Without a user
    message, the first message.
    """
    said = (message["content"] for message in messages if message["role"] == "user")
    return next(said, messages[0]["content"])
