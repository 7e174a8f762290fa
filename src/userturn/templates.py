"""Prompts as token ids, derived from a model's own chat template and proven before use.

A conversation is rendered once with its real contents and once with a sentinel for each content.
The second rendering gives the template's own text (role headers, end-of-turn markers), the first
proves that the template left every content as it is. The probe prompt is the rendering of
[messages, answer, user: sentinel] cut at the last sentinel: true history, true user header.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from userturn.errors import UserError

Message = Mapping[str, str]
NEXT_USER_MESSAGE = "Why is that, in short?"


@dataclass(frozen=True)
class Prompt:
    """What a model reads: text with special tokens visible, and its token ids."""

    text: str
    token_ids: tuple[int, ...]


class TemplateError(UserError):
    """A chat template or an item from which no proven prompt can be derived."""


def _sentinel(position: int) -> str:
    return f"Zq{position}sentinelQz"


@dataclass(frozen=True)
class Template:
    """A tokenizer with its chat template and the model line's choices.

    Attributes:
        tokenizer: a transformers tokenizer.
        today: the date that templates which print one are given.
        options: keyword arguments of the template, such as enable_thinking.
        user_header: overrides the header that the probe prompt ends in.
        stop: further stop tokens of the user turn.
        end_of_sequence: end tokens that the model's generation config names.
    """

    tokenizer: Any
    today: date
    options: Mapping[str, Any] = field(default_factory=dict)
    user_header: str | None = None
    stop: tuple[str, ...] = ()
    end_of_sequence: tuple[int, ...] = ()

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
            raise TemplateError(f"the chat template refuses a conversation: {error}") from error
        return str(text)

    def literals(self, messages: Sequence[Message], **options: Any) -> tuple[list[str], list[str]]:
        """Return the template's own texts around the contents, and the contents as it shows them.

        Of n messages there are n + 1 literals; content i stands between literals i and i + 1.

        Raises:
            TemplateError: a content is dropped, doubled, moved or altered.
        """
        hidden = [dict(m, content=_sentinel(i)) for i, m in enumerate(messages)]
        rest = self.render(hidden, **options)
        found: list[str] = []
        for i in range(len(messages)):
            if rest.count(_sentinel(i)) != 1:
                raise TemplateError(
                    f"the chat template shows message {i} of {len(messages)} "
                    f"{rest.count(_sentinel(i))} times, not once"
                )
            literal, rest = rest.split(_sentinel(i))
            found.append(literal)
        found.append(rest)
        text = self.render(messages, **options)
        for contents in (
            [m["content"] for m in messages],
            [m["content"].strip() for m in messages],
        ):
            if _interleave(found, contents) == text:
                return found, contents
        raise TemplateError("the chat template alters the text of a message")

    def answer_prompt(self, messages: Sequence[Message]) -> Prompt:
        """Return the prompt after which the model writes its own answer."""
        literals, contents = self.literals(messages, add_generation_prompt=True)
        return self._prompt(literals, contents)

    def probe_prompt(self, messages: Sequence[Message], answer: str) -> Prompt:
        """Return the prompt that ends in the model's own user header, after its answer."""
        history = [*messages, {"role": "assistant", "content": answer}]
        literals, contents = self.literals(
            [*history, {"role": "user", "content": NEXT_USER_MESSAGE}]
        )
        header = self._user_header(literals[-2])
        return self._prompt([*literals[:-2], header], contents[:-1])

    def _user_header(self, derived: str) -> str:
        """Return the text between answer and user turn, with the model line's override."""
        if self.user_header is None:
            return derived
        before, found, _ = derived.rpartition(self.user_header)
        return before + found if found else self.user_header

    def _prompt(self, literals: list[str], contents: list[str]) -> Prompt:
        text = _interleave(literals, contents)
        if any(token in content for token in self.control_tokens for content in contents):
            ids = self._encode_piecewise(literals, contents)
        else:
            ids = self._encode(text)
        bos = self.tokenizer.bos_token_id
        if bos is not None and list(ids[:2]) == [bos, bos]:
            raise TemplateError("the prompt begins with two beginning-of-sequence tokens")
        return Prompt(text, tuple(ids))

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    @cached_property
    def control_tokens(self) -> dict[str, int]:
        """Tokens with a meaning of their own, by text: no content may contain them as tokens."""
        source = str(self.tokenizer.chat_template)
        return {
            token.content: token_id
            for token_id, token in self.tokenizer.added_tokens_decoder.items()
            if token.special or (token.content in source and token.content.strip())
        }

    def _encode_piecewise(self, literals: list[str], contents: list[str]) -> list[int]:
        raise TemplateError("a message contains a special token of the model as plain text")

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of token ids, special tokens kept."""
        return str(self.tokenizer.decode(list(token_ids), skip_special_tokens=False))

    @cached_property
    def user_header_text(self) -> str:
        """What stands between an answer and the user's next message."""
        history = [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hello, how can I help?"},
            {"role": "user", "content": NEXT_USER_MESSAGE},
        ]
        return self._user_header(self.literals(history)[0][-2])

    @cached_property
    def end_token_ids(self) -> tuple[int, ...]:
        """Tokens that end the model's own answer: what the model's files call its end."""
        ends = {self.tokenizer.eos_token_id, *self.end_of_sequence}
        return tuple(sorted(i for i in ends if i is not None))

    @cached_property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Tokens that end a user turn: the answer's ends, the end of a turn, the model line's."""
        first = next(
            (self.control_tokens[t] for t in self._control_tokens_in(self.user_header_text)), None
        )
        named = [self.tokenizer.convert_tokens_to_ids(token) for token in self.stop]
        ends = {*self.end_token_ids, *named, *([] if first is None else [first])}
        return tuple(sorted(ends))

    def _control_tokens_in(self, text: str) -> list[str]:
        found = [(text.find(t), t) for t in self.control_tokens if t in text]
        return [token for _, token in sorted(found)]

    def is_empty(self, token_ids: Sequence[int]) -> bool:
        """Tell whether token ids say nothing: no text but special tokens and white space."""
        return not str(self.tokenizer.decode(list(token_ids), skip_special_tokens=True)).strip()


def _interleave(literals: Sequence[str], contents: Sequence[str]) -> str:
    pairs = zip(literals, [*contents, ""], strict=True)
    return "".join(literal + content for literal, content in pairs)


def load_template(folder: Path, line: Mapping[str, Any], today: str) -> Template:
    """Return the template of a model folder with the choices of the model's line.

    Raises:
        TemplateError: the folder has no tokenizer or no chat template.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise TemplateError(
            f"model folder '{folder}' has no tokenizer that transformers can load "
            f"({str(error).splitlines()[0]}); expected tokenizer.json beside config.json"
        ) from error
    if not tokenizer.chat_template:
        raise TemplateError(
            f"model folder '{folder}' has no chat template, so it has no user header; expected "
            "chat_template.jinja or the key chat_template in tokenizer_config.json"
        )
    return Template(
        tokenizer,
        date.fromisoformat(today),
        {"enable_thinking": line["enable_thinking"]},
        line.get("user_header"),
        tuple(line.get("stop", ())),
        _end_of_sequence(folder),
    )


def _end_of_sequence(folder: Path) -> tuple[int, ...]:
    """Return the end tokens that a model folder's generation config names."""
    path = folder / "generation_config.json"
    ends = json.loads(path.read_text()).get("eos_token_id") if path.is_file() else None
    return tuple(ends) if isinstance(ends, list) else () if ends is None else (ends,)
