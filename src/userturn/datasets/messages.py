"""Conversations as chat templates want them: messages of role and content, the last the user's."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import cycle
from types import MappingProxyType
from typing import Any, NamedTuple

from userturn.errors import UserError
from userturn.wording import UNSEEN, kind_of

Message = Mapping[str, str]  # role and content; of the model's own answers also the reasoning
REASONING = "reasoning"
Roles = Mapping[str, str] | Sequence[str]  # of an entry: its names of roles, or whose turn it is
ROLES = ("system", "user", "assistant")
OTHER_NAMES = {  # what datasets call them
    "developer": "system",
    **dict.fromkeys(("prompter", "human"), "user"),
    **dict.fromkeys(("gpt", "model", "bot", "chatgpt"), "assistant"),
}
ROLE_KEYS, TEXT_KEYS = ("role", "from"), ("content", "value", "text")
CALLS = ("tool_calls", "function_call")  # that a conversation of texts cannot show
LONGEST_NAME = 20  # characters of a role that an error shows
CHOSEN = "if_chosen"  # of PRISM: which of several answers the user went on with


class ShownAnswer(NamedTuple):
    """An answer that a model is shown as its own."""

    text: str  # that a user sees
    reasoning: str | None = None  # before it, if the model's template writes that into history

    def message(self) -> Message:
        """Return the assistant's message."""
        message = {"role": "assistant", "content": self.text}
        return message if self.reasoning is None else {**message, REASONING: self.reasoning}


def unpacked(value: Any, begin: str = "{") -> Any:
    """Return a struct, parsed if it is stored as JSON text, as `datasets` 5 does in Parquet."""
    if isinstance(value, str) and value.lstrip()[:1] == begin:
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def conversation(messages: Any, where: str, roles: Roles = MappingProxyType({})) -> list[Message]:
    """Return messages as role and content, with the roles of a chat template.

    `messages` are a list or its JSON text. A message has a role (`role` or `from`) and a text
    (`content`, `value` or `text`, also as a list of parts with text), or the texts of several roles
    by their names. `roles` has the dataset's own names of roles, or those that alternate in a list
    of texts. If a user chose between answers, only the chosen one is returned.

    Raises:
        UserError: no list, another role, a tool's call, or content that is not text.
    """
    listed = unpacked(messages, "[")
    if not isinstance(listed, list):
        raise UserError(
            f"{where}: messages are {kind_of(listed)}, expected a list; correct that row "
            "or `fields.messages`"
        )
    if not isinstance(roles, Mapping):
        return [
            {"role": role, "content": _text(content, f"{where}: message {number}")}
            for number, (content, role) in enumerate(zip(listed, cycle(roles)), start=1)
        ]
    role_names = {**dict(zip(ROLES, ROLES, strict=True)), **OTHER_NAMES, **roles}
    return [
        each
        for number, message in enumerate(map(unpacked, listed), start=1)
        for each in _messages(message, role_names, f"{where}: message {number}")
    ]


def _messages(message: Any, roles: Mapping[str, str], where: str) -> Iterator[Message]:
    """Yield the messages of one element, which is one message or a pair of user and assistant."""
    if not isinstance(message, dict):
        raise UserError(
            f"{where} is {kind_of(message)}, expected {{role, content}}; correct or remove that "
            "row, or say by `roles: [user, assistant]` whose turn each text of a list is"
        )
    if any(message.get(key) for key in CALLS):
        raise UserError(f"{where} calls a tool, expected text alone; remove that row")
    entries = {key: value for key, value in message.items() if value is not None}
    role_key, text_key = _key(entries, ROLE_KEYS), _key(entries, TEXT_KEYS)
    if role_key and text_key:
        role, text = _role(entries[role_key], roles, where), _text(entries[text_key], where)
        if role != "assistant" or entries.get(CHOSEN) is not False:
            yield {"role": role, "content": text}
        return
    roles_present = sorted((ROLES.index(roles[key]), key) for key in entries if key in roles)
    if not roles_present:
        keys = ", ".join(sorted(map(str, entries))) or "no keys"
        raise UserError(
            f"{where} is not {{role, content}} but has {keys}; correct or remove that row, or give "
            "the names that it has for user and assistant by `roles`"
        )
    yield from (
        {"role": roles[key], "content": _text(entries[key], where)} for _, key in roles_present
    )


def _key(entries: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((key for key in keys if key in entries), None)


def _role(name: Any, roles: Mapping[str, str], where: str) -> str:
    role = roles.get(name, roles.get(name.lower())) if isinstance(name, str) else None
    if role is None:
        is_name = isinstance(name, str) and len(name) <= LONGEST_NAME
        raise UserError(
            f"{where} has the role {name if is_name else kind_of(name)}, expected one of "
            f"{', '.join(ROLES)}; correct or remove that row, or say by `roles` what it means"
        )
    return role


def _text(content: Any, where: str) -> str:
    parts = []
    for part in content if isinstance(content, list) and content else [content]:
        is_text = not isinstance(part, dict) or part.get("type", "text") == "text"
        text = part.get("text") if isinstance(part, dict) else part
        if not is_text or not isinstance(text, str):
            what = f"a part of the type {part['type']}" if not is_text else kind_of(part)
            raise UserError(
                f"{where} has as its content {what}, expected text; correct or remove that row"
            )
        parts.append(text)
    return "".join(parts)


def unread_keys(messages: Any, roles: Roles = MappingProxyType({})) -> set[str]:
    """Return the keys of messages that `conversation` does not read, unless they are null."""
    listed = unpacked(messages, "[")
    pairs = {*ROLES, *OTHER_NAMES, *roles}
    unread: set[str] = set()
    for message in map(unpacked, listed if isinstance(listed, list) else ()):
        if isinstance(message, dict):
            keys = {str(key) for key, value in message.items() if value is not None}
            unread |= keys - {*ROLE_KEYS, *TEXT_KEYS, CHOSEN, *CALLS}
            unread -= set() if _key(message, ROLE_KEYS) else pairs
    return unread


def has_text(content: str) -> bool:
    """Return whether a text has any visible character."""
    return bool(re.sub(UNSEEN, "", content).strip())


def check_ending(messages: Sequence[Message], where: str) -> None:
    """Check that a conversation ends in a user message with text, or raise UserError."""
    if not messages or messages[-1]["role"] != "user" or not has_text(messages[-1]["content"]):
        role = messages[-1]["role"] if messages else ""
        mend = "correct or remove that row"
        if role == "assistant":
            mend = "set `turns: all` in the dataset's entry to probe after each of its user turns"
        raise UserError(
            f"{where}: the conversation ends in {f'the role {role}' if role else 'no message'}, "
            f"expected a user message with text; {mend}"
        )


def split_reference(messages: Sequence[Message]) -> tuple[list[Message] | None, str | None]:
    """Return the first user message that replies to an assistant's: messages before it, its text.

    Both are None without one. An assistant's message that opens the conversation does not count.
    """
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
    """Return the first user message, which all items of one conversation share.

    A system prompt or a greeting before it may be the same in all conversations. Without a user
    message it is the first message.
    """
    texts = (message["content"] for message in messages if message["role"] == "user")
    return next(texts, messages[0]["content"])
