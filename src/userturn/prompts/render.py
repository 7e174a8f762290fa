"""What a chat template writes around messages, and whether it leaves them as they are.

A conversation is rendered with a sentinel for each content: what is between the sentinels is
the template's own text. Then it is rendered as it is: that must be exactly this text around
contents as they were, white space at their ends aside.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from userturn.datasets.messages import Message
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.tokenize import Encoder, TemplateError, find_control_tokens, interleave


def _sentinel(position: int) -> str:
    return f"Zq{position}sentinelQz"


@dataclass(frozen=True)
class Renderer:
    """A tokenizer's chat template, on one day and with one set of options.

    Attributes:
        tokenizer: a transformers tokenizer.
        today: the date that templates which print one are given.
        options: keyword arguments of the template, such as enable_thinking.
    """

    tokenizer: Any
    today: date
    options: Mapping[str, Any] = field(default_factory=dict)
    _shapes: dict[Any, list[str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def render(self, messages: Sequence[Message], add_generation_prompt: bool = False) -> str:
        """Return the chat template's text for a conversation.

        Raises:
            TemplateError: the template is missing or refuses the conversation.
        """
        try:
            text = self.tokenizer.apply_chat_template(
                [dict(message) for message in messages],
                tokenize=False,
                add_generation_prompt=add_generation_prompt,
                strftime_now=self.today.strftime,
                **self.options,
            )
        except Exception as error:
            roles = ", ".join(message["role"] for message in messages)
            raise TemplateError(
                f"the chat template refuses a conversation of {roles}: {error}"
            ) from error
        return str(text)

    def literals(
        self, messages: Sequence[Message], add_generation_prompt: bool = False
    ) -> list[str]:
        """Return the template's own texts around the contents: n + 1 for n messages.

        Contents of white space only count as the template's text, which may treat them apart.

        Raises:
            TemplateError: the template refuses the conversation, or hides or repeats a message.
        """
        shape = tuple((m["role"], None if m["content"].strip() else m["content"]) for m in messages)
        key = (shape, add_generation_prompt)
        if key not in self._shapes:
            self._shapes[key] = self._split_at_sentinels(messages, add_generation_prompt)
        return self._shapes[key]

    def _split_at_sentinels(
        self, messages: Sequence[Message], add_generation_prompt: bool
    ) -> list[str]:
        spoken = [i for i, m in enumerate(messages) if m["content"].strip()]
        hidden = [
            {"role": m["role"], "content": _sentinel(i) if i in spoken else m["content"]}
            for i, m in enumerate(messages)
        ]
        rest = self.render(hidden, add_generation_prompt)
        found: list[str] = []
        for i in spoken:
            if (n_times := rest.count(_sentinel(i))) != 1:
                raise TemplateError(
                    f"the chat template shows message {i + 1} of {len(messages)} {n_times} times "
                    "as it is, expected once: it hides, repeats or alters messages"
                )
            literal, rest = rest.split(_sentinel(i))
            found.append(literal)
        return [*found, rest]

    def split(
        self, messages: Sequence[Message], add_generation_prompt: bool = False
    ) -> tuple[list[str], list[str]]:
        """Return the template's own texts of a rendering, and the contents as it shows them.

        Raises:
            TemplateError: the rendering is not the contents inside the template's own text.
        """
        literals = self.literals(messages, add_generation_prompt)
        spoken = [m["content"] for m in messages if m["content"].strip()]
        text = self.render(messages, add_generation_prompt)
        for shown in (spoken, [content.strip() for content in spoken]):  # as nearly all show them
            if interleave(literals, shown) == text:
                return literals, shown
        pattern = interleave(list(map(re.escape, literals)), list(map(_trimmed, spoken)))
        match = re.fullmatch(pattern, text)
        if match is None:
            raise TemplateError(
                "the chat template alters the text of a message, or writes other text around it "
                "than around another message; leave that item out, or give the model's entry a "
                "`chat_template` that does not"
            )
        return literals, list(match.groups())

    @cached_property
    def encoder(self) -> Encoder:
        """Turns the template's text and the messages into token ids."""
        texts = [str(self.tokenizer.chat_template)]
        for messages, generation in ((EXAMPLE, False), (EXAMPLE[:1], True)):
            try:
                texts.extend(self.literals(messages, generation))
            except TemplateError:
                continue
        return Encoder(self.tokenizer, find_control_tokens(self.tokenizer, texts))

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """Tokens with a meaning of their own, by text: no content may become one of them."""
        return self.encoder.control_tokens

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of token ids, special tokens kept."""
        return str(
            self.tokenizer.decode(
                list(token_ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    def is_empty(self, token_ids: Sequence[int], text: str) -> bool:
        """Return whether token ids say nothing: no text but control tokens and white space.

        `text` is what they decode to, which is known already where this is asked.
        """
        controls = set(self.control_tokens.values())
        said = [i for i in token_ids if i not in controls]
        return not (text if len(said) == len(token_ids) else self.decode(said)).strip()


def _trimmed(content: str) -> str:
    """Return a pattern for a content with all, some or none of the white space at its ends."""
    stripped = content.strip()
    before, _, after = content.partition(stripped)
    heads = "|".join(re.escape(before[i:]) for i in range(len(before) + 1))
    tails = "|".join(re.escape(after[:i]) for i in range(len(after), -1, -1))
    return f"((?:{heads}){re.escape(stripped)}(?:{tails}))"
