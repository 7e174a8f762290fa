"""Render conversations, and separate the template's own text from the messages.

A conversation is first rendered with a sentinel for each content, so that the text between the
sentinels is the template's own. Then it is rendered with the real contents. The result must be that
text around unchanged contents, except for white space at their ends.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Any

from userturn.datasets.messages import REASONING, Message
from userturn.prompts.bounds import N_BYTES, bounded
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.given_messages import (
    ADVICE,
    OwnSystem,
    ReasoningKey,
    as_written,
    begins_with_system,
    has_reasoning,
    message_for_template,
    own_system,
    reasoning_key,
)
from userturn.prompts.template_text import remove_comments
from userturn.prompts.tokenize import Encoder, TemplateError, find_control_tokens, interleave

ADDS_BOS = "adds_bos_token"
WRITTEN_LIST = re.compile(r"""["']type["']:""")


def _sentinel(position: int, key: str = "content") -> str:
    return f"Zq{position}{'' if key == 'content' else key}sentinelQz"


def _content_keys(message: Message) -> list[str]:
    """Return the keys of a message's contents, in the order in which templates write them."""
    keys = [REASONING] if has_reasoning(message) else []
    return [*keys, "content"] if message["content"].strip() else keys


@dataclass(frozen=True)
class Renderer:
    """A tokenizer's chat template, on one day and with one set of options.

    Attributes:
        today: the date given to templates that print one.
        options: keyword arguments of the template, such as enable_thinking.
        merge_system_message: whether a system message is written into the first user message.
        system: system prompt of conversations that bring none; "" for none, None for the template's
            own.
    """

    tokenizer: Any
    today: date
    options: Mapping[str, Any] = field(default_factory=dict)
    merge_system_message: bool = field(default=False, kw_only=True)
    system: str | None = field(default=None, kw_only=True)
    _shapes: dict[Any, list[str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def render(self, messages: Sequence[Message], add_generation_prompt: bool = False) -> str:
        """Return the chat template's text for a conversation, or raise TemplateError."""
        key = self.reasoning_key if any(map(has_reasoning, messages)) else None
        return self._rendered(messages, add_generation_prompt, self.takes_parts, key)

    def _rendered(
        self,
        messages: Sequence[Message],
        add_generation_prompt: bool,
        in_parts: bool,
        key: ReasoningKey | None = None,
    ) -> str:
        spoken = as_written(messages, self.system, merge=self.merge_system_message)
        prepared = [message_for_template(message, in_parts, key) for message in spoken]
        is_asked = ADDS_BOS in str(self.tokenizer.chat_template)  # by this project's own templates
        own = {ADDS_BOS: self.adds_bos_token} if is_asked else {}
        try:
            with bounded():
                text = self.tokenizer.apply_chat_template(
                    prepared,
                    tokenize=False,
                    add_generation_prompt=add_generation_prompt,
                    strftime_now=self.today.strftime,
                    **own,
                    **self.options,
                )
        except Exception as error:
            from jinja2 import TemplateSyntaxError  # slow to import, and loaded by now

            if isinstance(error, TemplateSyntaxError):  # also raised for an unknown filter
                where = f"line {error.lineno}: {str(error.message).rstrip('.')}"
                raise TemplateError(
                    f"the chat template cannot be read, {where}; "
                    "correct it, or name another by `chat_template` in the model's entry"
                ) from error
            roles = ", ".join(message["role"] for message in messages)
            reason = str(error) or type(error).__name__
            if isinstance(error, MemoryError):
                reason = f"it asked for more than {N_BYTES / 2**30:g} GiB"
            advice = ADVICE if begins_with_system(spoken) else ""
            raise TemplateError(
                f"the chat template refuses a conversation of {roles}: {reason}{advice}"
            ) from error
        has_own = any(message["role"] == "system" for message in spoken[:1])
        shows_system = self.system != "" or has_own
        return str(text) if shows_system else self._own_system.left_out(str(text))

    @cached_property
    def _own_system(self) -> OwnSystem:
        """The template's own system prompt, which is left out if `system` is empty."""
        return own_system(replace(self, system=None))

    @cached_property
    def adds_bos_token(self) -> bool:
        """Whether the tokenizer itself begins a text with its beginning-of-sequence token."""
        bos = self.tokenizer.bos_token_id
        return bos is not None and self.tokenizer("a")["input_ids"][:1] == [bos]

    @property
    def left_out_system_prompt(self) -> str:
        """The template's own system prompt if it is left out, else ""."""
        return self._own_system.prompt if self.system == "" else ""

    @cached_property
    def takes_parts(self) -> bool:
        """Whether the template needs `content` as a list of parts, as vision models do.

        Plain text is tried first, and parts only if the template does not show plain text.
        """
        messages = [{"role": "user", "content": _sentinel(0)}]

        def shows(in_parts: bool) -> bool:
            try:
                text = self._rendered(messages, False, in_parts)
            except TemplateError:
                return False
            # A template that knows no parts may write the list itself.
            return text.count(_sentinel(0)) == 1 and not WRITTEN_LIST.search(text)

        return not shows(False) and shows(True)

    @cached_property
    def reasoning_key(self) -> ReasoningKey | None:
        """Where the template reads the reasoning before an answer, or None if it writes none."""
        return reasoning_key(
            str(self.tokenizer.chat_template),
            lambda messages, key: self._rendered(messages, False, self.takes_parts, key),
        )

    def literals(
        self, messages: Sequence[Message], add_generation_prompt: bool = False
    ) -> list[str]:
        """Return the template's own texts around the contents, one more than there are contents.

        Contents are messages, and the reasoning before one. Those of only white space count as
        template text, since templates may treat them specially.

        Raises:
            TemplateError: the template refuses the conversation, or hides, moves or repeats some.
        """
        shape = tuple(
            (m["role"], has_reasoning(m), None if m["content"].strip() else m["content"])
            for m in messages
        )
        key = (shape, add_generation_prompt)
        if key not in self._shapes:
            self._shapes[key] = self._split_at_sentinels(messages, add_generation_prompt)
        return self._shapes[key]

    def _split_at_sentinels(
        self, messages: Sequence[Message], add_generation_prompt: bool
    ) -> list[str]:
        hidden = [
            {**m, **{key: _sentinel(i, key) for key in _content_keys(m)}}
            for i, m in enumerate(messages)
        ]
        rest = self.render(hidden, add_generation_prompt)
        spoken = [(i, key) for i, m in enumerate(messages) for key in _content_keys(m)]
        _check_order(rest, [(i, messages[i]["role"]) for i, key in spoken if key == "content"])
        literals: list[str] = []
        for i, key in spoken:
            if (n_times := rest.count(_sentinel(i, key))) != 1:
                what = "" if key == "content" else f"the {key} of "
                raise TemplateError(
                    f"the chat template shows {what}message {i + 1} of {len(messages)} {n_times} "
                    "times unchanged, expected once: it hides, repeats or alters messages"
                )
            literal, rest = rest.split(_sentinel(i, key))
            literals.append(literal)
        return [*literals, rest]

    def split(
        self, messages: Sequence[Message], add_generation_prompt: bool = False
    ) -> tuple[list[str], list[str]]:
        """Return the template's own texts in a rendering, and the contents as it shows them.

        Raises:
            TemplateError: the rendering is not the contents inside the template's own text.
        """
        literals = self.literals(messages, add_generation_prompt)
        spoken = [m[key] for m in messages for key in _content_keys(m)]
        text = self.render(messages, add_generation_prompt)
        for contents in (
            spoken,
            [content.strip() for content in spoken],
        ):  # as nearly all show them
            if interleave(literals, contents) == text:
                return literals, contents
        trimmed = find_trimmed(text, literals, spoken)
        if trimmed is None:
            raise TemplateError(
                "the chat template alters the text of a message, or writes other text around it "
                "than around another message; leave that item out, or give the model's entry a "
                "`chat_template` that does not"
            )
        return literals, trimmed

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of the template's text and the messages."""
        texts = [remove_comments(str(self.tokenizer.chat_template))]
        for messages, generation in ((EXAMPLE, False), (EXAMPLE[:1], True)):
            try:
                texts.extend(self.literals(messages, generation))
            except TemplateError:
                continue
        return Encoder(self.tokenizer, find_control_tokens(self.tokenizer, texts))

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """Control tokens by text, with their ids: no content may be encoded as one of them."""
        return self.encoder.control_tokens

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of token ids, special tokens kept."""
        return str(
            self.tokenizer.decode(
                list(token_ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    def is_empty(self, token_ids: Sequence[int], text: str) -> bool:
        """Return whether token ids hold only control tokens and white space.

        `text` is their decoded text, which every caller has already.
        """
        controls = set(self.control_tokens.values())
        written = [i for i in token_ids if i not in controls]
        return not (text if len(written) == len(token_ids) else self.decode(written)).strip()


def _check_order(text: str, spoken: Sequence[tuple[int, str]]) -> None:
    """Check that a rendering shows the messages in their order."""
    places = [text.find(_sentinel(i)) for i, _ in spoken]
    if any(text.count(_sentinel(i)) != 1 for i, _ in spoken) or places == sorted(places):
        return
    moved = next(n for n, begin in enumerate(places) if begin > min(places[n:]))
    position, role = spoken[moved]
    before = [spoken[n] for n, begin in enumerate(places) if begin < places[moved]][-1]
    raise TemplateError(
        f"the chat template moves message {position + 1}, the {role}'s, after the beginning of "
        f"message {before[0] + 1}, the {before[1]}'s, so that history would change with each turn"
        + (ADVICE if role == "system" else "; leave that item out")
    )


def find_trimmed(
    text: str, literals: Sequence[str], contents: Sequence[str], start: int = 0
) -> list[str] | None:
    """Return contents as a text shows them: with all, some or none of the space at their ends.

    Return None if the text, from `start` on, is not literals and contents in alternation. No
    content may be only white space.
    """
    begin = start + len(literals[0])
    if not text.startswith(literals[0], start):
        return None
    if not contents:
        return [] if begin == len(text) else None
    stripped = contents[0].strip()
    before, _, after = contents[0].partition(stripped)
    shown_at = text.find(stripped[0], begin)  # what is trimmed holds no such character
    end = shown_at + len(stripped)
    if not before.endswith(text[begin:shown_at]) or not text.startswith(
        stripped, max(shown_at, begin)
    ):
        return None
    following = text[end : end + len(after)]
    pairs = enumerate(zip(after, following, strict=False))
    longest = next((n for n, (one, other) in pairs if one != other), len(following))
    for n in range(longest, -1, -1):
        rest = find_trimmed(text, literals[1:], contents[1:], end + n)
        if rest is not None:
            return [text[begin : end + n], *rest]
    return None
