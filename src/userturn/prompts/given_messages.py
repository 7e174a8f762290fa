"""How a chat template is given a conversation's system message and reasoning.

Some templates write a system prompt of their own, which can be left out. Vendors name reasoning
differently, and most leave it out of history once the user has spoken again. So each word of the
template that names reasoning is tried, as a key of the message and as a part of its content.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from userturn.datasets.messages import REASONING, Message
from userturn.prompts.examples import EXAMPLE, NEXT_USER
from userturn.prompts.template_text import shared_beginning
from userturn.prompts.tokenize import Encoder, TemplateError

if TYPE_CHECKING:
    from userturn.prompts.render import Renderer

BETWEEN = "\n\n"
ADVICE = (
    "; leave that item out, or give the model's entry `merge_system_message: true`, which writes "
    "it before the text of the first user message"
)


def begins_with_system(messages: Sequence[Message]) -> bool:
    """Return whether a conversation begins with a system message and a user's."""
    return [message["role"] for message in messages[:2]] == ["system", "user"]


def merge_system_message(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation whose system message is the beginning of its first user message.

    A conversation that does not begin with a system message and a user's stays as it is.
    """
    if not begins_with_system(messages):
        return [*messages]
    system, question, *rest = messages
    text = system["content"] + BETWEEN + question["content"]
    return [{"role": "user", "content": text}, *rest]


def as_written(
    messages: Sequence[Message], system: str | None, *, merge: bool
) -> Sequence[Message]:
    """Return a conversation as a template is given it.

    If it brings no system message and `system` is not empty, that text becomes its system
    message. `merge` writes a system message into the first user message.
    """
    has_own = any(message["role"] == "system" for message in messages[:1])
    if system and not has_own:
        messages = [{"role": "system", "content": system}, *messages]
    return merge_system_message(messages) if merge else messages


CANNOT = "`system: none` cannot be done with this chat template"
LEAVE_OUT = "leave the model out of that format with `models`"
SYSTEM = "sys"  # in the name of a control token that begins a system message


class OwnSystem(NamedTuple):
    """How a template begins a conversation that brings no system message.

    Attributes:
        opening: text before the system prompt, such as the token that begins every text.
        prompt: the template's own system prompt, empty if it writes none.
    """

    opening: str
    prompt: str

    def left_out(self, text: str) -> str:
        """Return a rendered conversation without the template's own system prompt.

        Raises:
            TemplateError: the conversation begins in another way.
        """
        begin = self.opening + self.prompt
        if not text.startswith(begin):
            raise TemplateError(
                f"{CANNOT}: before this conversation it writes another system prompt than "
                f"{self.prompt!r}; leave that item out"
            )
        return self.opening + text[len(begin) :]


def own_system(renderer: "Renderer") -> OwnSystem:
    """Return the template's text before a first user message, without the user header.

    A system turn without words, which some templates always write, belongs to the opening.

    Raises:
        TemplateError: nothing says where the system prompt ends and the user header begins.
    """
    encoder = renderer.encoder
    question, after_question, between, _ = renderer.literals([*EXAMPLE, EXAMPLE[0]])
    opening = _opening(encoder, question, after_question + between)
    first = question.removeprefix(opening)
    header = _from_the_same_token(encoder, first, between) or _strip_ends(
        _shared_end(encoder, first, between), _ends(renderer, after_question)
    )
    before = question.removesuffix(header)
    prompt = before.removeprefix(opening)
    if not _has_words(encoder, prompt):
        prompt, opening = "", before
    # Behind another token than that of a text's beginning, plain text may belong to that token.
    is_bound = prompt[:1].strip() and not any(map(prompt.startswith, encoder.find(prompt)[:1]))
    if not header.strip() or (is_bound and opening not in ("", renderer.tokenizer.bos_token)):
        raise TemplateError(
            f"{CANNOT}: it writes {question!r} before a first user message and {between!r} before "
            "a later one, so that nothing says where its system prompt begins and ends; "
            f"{LEAVE_OUT}"
        )
    return OwnSystem(opening, prompt)


def _has_words(encoder: Encoder, prompt: str) -> bool:
    """Return whether a system prompt has more words than the names of its turns' roles."""
    controls, words = encoder.find(prompt), prompt
    for token in controls:
        words = words.replace(token, " ")
    return len(words.split()) > len(controls)


def _opening(encoder: Encoder, first: str, later: str) -> str:
    """Return the control tokens that begin every conversation and no message."""
    opening = ""
    for token in encoder.find(first):
        if not first.startswith(opening + token) or token in later or SYSTEM in token.lower():
            break
        opening += token
    return opening


def _shared_end(encoder: Encoder, first: str, between: str) -> str:
    """Return the longest common end of two texts that does not begin inside a control token."""
    shared = shared_beginning(first[::-1], between[::-1])[::-1]
    start, position = len(between) - len(shared), 0
    for token in encoder.find(between):
        position = between.index(token, position) + len(token)
        if position - len(token) < start < position:
            return between[position:]
    return shared


def _from_the_same_token(encoder: Encoder, first: str, between: str) -> str:
    """Return the header where the system's and user's turns begin with the same token, else ""."""
    token = next((token for token in encoder.find(first)[:1] if first.startswith(token)), None)
    shared = _shared_end(encoder, first, between)
    return shared[shared.rindex(token) :] if token and token in shared else ""


def _ends(renderer: "Renderer", after_question: str) -> set[str]:
    """Return the texts that end a turn and may therefore end a system prompt."""
    tokens = renderer.encoder.find(after_question)[:1]
    written = [renderer.literals(messages)[-1].strip() for messages in (EXAMPLE, EXAMPLE[:1])]
    return {text for text in (*tokens, *written, renderer.tokenizer.eos_token) if text}


def _strip_ends(shared: str, ends: set[str]) -> str:
    """Return a header without the texts at its start that end the previous turn."""
    header = shared.lstrip()
    while end := next((text for text in sorted(ends) if header.startswith(text)), None):
        header = header.removeprefix(end).lstrip()
    return header


NAME = re.compile(r"[A-Za-z_]*(?:think|thought|reason)[A-Za-z_]*")
MARK = "Zqreasonsentinelqz"


class ReasoningKey(NamedTuple):
    """Where a template reads the reasoning of an assistant's message.

    Attributes:
        name: the message's key, or the type of the part and the key of its text.
        is_part: whether it is a part of the content, before the text.
    """

    name: str
    is_part: bool


def message_for_template(
    message: Message, in_parts: bool, key: ReasoningKey | None
) -> dict[str, Any]:
    """Return a message as a chat template is given it, with its reasoning, if any, at `key`.

    `in_parts` says whether its content is a list of parts.
    """
    text = message["content"]
    prepared: dict[str, Any] = {"role": message["role"], "content": text}
    if in_parts:
        prepared["content"] = [{"type": "text", "text": text}]
    if key is None or message.get(REASONING) is None:
        return prepared
    if not key.is_part:
        return prepared | {key.name: message[REASONING]}
    part = {"type": key.name, key.name: message[REASONING]}
    return prepared | {"content": [part, {"type": "text", "text": text}]}


Rendered = Callable[[list[Message], ReasoningKey], str]


def reasoning_key(template: str, rendered: Rendered) -> ReasoningKey | None:
    """Return where a chat template reads reasoning, or None if it never writes any.

    `rendered` renders a conversation with reasoning at a key, or raises `TemplateError`.
    """
    question, answer = EXAMPLE
    conversations = [[question, {**answer, REASONING: MARK}]]
    conversations.append([*conversations[0], NEXT_USER])
    names = sorted(set(NAME.findall(template)))
    for key in [ReasoningKey(name, is_part) for is_part in (False, True) for name in names]:
        for conversation in conversations:
            try:
                text = rendered(conversation, key)
            except TemplateError:
                continue
            behind = text.partition(MARK)[2]
            if text.count(MARK) == 1 and answer["content"].strip() in behind:
                return key
    return None


def has_reasoning(message: Mapping[str, str]) -> bool:
    """Return whether a message has reasoning that is more than white space."""
    return bool((message.get(REASONING) or "").strip())
