"""Derive prompts from a model's own chat template, and check them before use.

The probe prompt is the history as the model sees it and the model's own user header, which
header.py derives.

In role-play the model is told to play the user, and writes the user turn as its own answer. The
instruction is the first user message. The conversation follows with its roles swapped, so that the
model's own side is the user's, or is quoted in that message. The raw probe has none of this: the
two are compared on equal conversations.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from userturn.config.formats import PLAYED, QUOTED, SWAPPED
from userturn.datasets.messages import Message, ShownAnswer
from userturn.prompts.answer_layout import AnswerLayout, answer_layout
from userturn.prompts.examples import EXAMPLE, user
from userturn.prompts.given_messages import BETWEEN
from userturn.prompts.header import HeaderRenderer
from userturn.prompts.tokenize import TemplateError, interleave
from userturn.prompts.turn_ends import (
    answer_end_texts,
    answer_ends,
    user_turn_stop_texts,
    user_turn_stops,
)

__all__ = ["Prompt", "Template", "TemplateError"]
End = TypeVar("End", int, str)


@dataclass(frozen=True)
class Prompt:
    """The input of a model: text with special tokens visible, and its token ids."""

    text: str
    token_ids: tuple[int, ...]


@dataclass(frozen=True)
class Template(HeaderRenderer):
    """A chat template with the model entry's choices.

    Attributes:
        stop: additional stops of the user turn: tokens or texts.
        end_of_sequence: end tokens that the model's generation config names.
    """

    stop: tuple[str, ...] = ()
    end_of_sequence: tuple[int, ...] = ()

    def answer_prompt(self, messages: Sequence[Message]) -> Prompt:
        """Return the prompt after which the model writes its own answer, or raise TemplateError."""
        return self._prompt(*self.split(messages, add_generation_prompt=True))

    def probe_prompt(
        self, messages: Sequence[Message], answer: str | None, reasoning: str | None = None
    ) -> Prompt:
        """Return the prompt that ends in the model's own user header, after its answer.

        Without messages it is what the template writes before a first user message. Where the
        answer is None, `missing_answer` gives the assistant's turn. Reasoning is shown before the
        answer if the template writes it into history.

        Raises:
            TemplateError: no prompt can be proven for this conversation.
        """
        return self._prompt(*self.probe_parts(messages, answer, reasoning))

    def probe_parts(
        self, messages: Sequence[Message], answer: str | None, reasoning: str | None = None
    ) -> tuple[list[str], list[str]]:
        """Return the probe prompt in two lists: the template's texts, and the contents between."""
        if answer is None and messages:
            answer = self.missing_answer
        own = [] if answer is None else [ShownAnswer(answer, reasoning).message()]
        return self.probe_after([*messages, *own])

    def _prompt(self, literals: Sequence[str], contents: Sequence[str]) -> Prompt:
        ids = self.encoder.encode(literals, contents)
        bos = self.tokenizer.bos_token_id
        if bos is not None and list(ids[:2]) == [bos, bos]:
            raise TemplateError(
                f"the prompt begins with two {self.tokenizer.bos_token!r}, expected one: give the "
                "model's entry a `chat_template` that writes it once"
            )
        return Prompt(interleave(literals, contents), tuple(ids))

    @cached_property
    def missing_answer(self) -> str | None:
        """The assistant's turn without an answer: "" for an empty turn, None for no turn.

        The turn is left out if the template refuses an empty turn, or hides it.

        Raises:
            TemplateError: the template refuses both an empty turn and no turn.
        """
        question = EXAMPLE[0]
        try:
            with_turn = self.probe_after([question, {"role": "assistant", "content": ""}])
        except TemplateError:
            self.probe_after([question])
            return None
        try:
            return None if with_turn == self.probe_after([question]) else ""
        except TemplateError:
            return ""

    @cached_property
    def answer_layout(self) -> AnswerLayout:
        """The texts around the model's answers."""
        return AnswerLayout.recorded(self.record) if self.record else answer_layout(self)

    @cached_property
    def end_texts(self) -> tuple[str, ...]:
        """Texts that end the model's own answer."""
        return self._ends("end_of_answer_texts", lambda: answer_end_texts(self))

    @cached_property
    def stop_texts(self) -> tuple[str, ...]:
        """Texts that end a user turn."""
        return self._ends(
            "stop_texts", lambda: user_turn_stop_texts(self, self.end_texts, self.stop)
        )

    @property
    def has_stop_texts(self) -> bool:
        """Whether an engine has to decode its output to find the end of a turn."""
        return bool(self.stop_texts or self.end_texts)

    @cached_property
    def end_token_ids(self) -> tuple[int, ...]:
        """Tokens that end the model's own answer."""
        return self._ends(
            "end_of_answer_token_ids",
            lambda: answer_ends(self, self.end_of_sequence, self.answer_layout.has_special_opening),
        )

    @cached_property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Tokens that end a user turn: ends of turns, starts of other turns, the entry's stops."""
        return self._ends(
            "stop_token_ids", lambda: user_turn_stops(self, self.end_token_ids, self.stop)
        )

    def _ends(self, name: str, derive: Callable[[], tuple[End, ...]]) -> tuple[End, ...]:
        """Return the ends of a turn that the model's description records, or derive them."""
        return tuple(self.record.get(name, ())) if self.record else derive()


def tokens_needed(error: str) -> int | None:
    """Return the number of tokens that an error says a prompt needs, or None for another error."""
    match = re.search(r"\bneed (\d+) tokens, max_model_len is", error)
    return int(match[1]) if match else None


def check_context_length(prompt: Prompt, max_tokens: int, max_model_len: int) -> None:
    """Raise TemplateError if a prompt and `max_tokens` more do not fit into `max_model_len`."""
    n_tokens = len(prompt.token_ids) + max_tokens
    if n_tokens > max_model_len:
        raise TemplateError(
            f"prompt and continuation need {n_tokens} tokens, max_model_len is {max_model_len}"
        )


OTHER_SIDE = {"user": "assistant", "assistant": "user"}
TOLD = "The assistant has these instructions:"
SO_FAR = "The conversation so far:"
NAMES = {"system": "Instructions to the assistant", "user": "Person", "assistant": "Assistant"}


def conversation(
    instruction: str, roles: str, messages: Sequence[Message], answer: str | None
) -> list[Message]:
    """Return the conversation after which a model that plays the user writes the user turn.

    Roles are `swapped` or `quoted`. Without messages the user begins. An answer of None is an empty
    message.
    """
    plain = [{"role": m["role"], "content": m["content"]} for m in messages]
    if plain:
        plain.append({"role": "assistant", "content": answer or ""})
    if roles == QUOTED:
        lines = [f"{NAMES[m['role']]}: {m['content']}" for m in plain]
        return [user(BETWEEN.join([instruction, *([SO_FAR] if lines else []), *lines]))]
    is_told = plain[:1] and plain[0]["role"] == "system"
    told = [TOLD, plain.pop(0)["content"]] if is_told else []
    swapped = [{**m, "role": OTHER_SIDE.get(m["role"], m["role"])} for m in plain]
    return [user(BETWEEN.join([instruction, *told])), *swapped]


@dataclass(frozen=True)
class RolePlayTemplate(Template):
    """A chat template that asks for a user turn in role-play, as the model's own answer.

    Attributes:
        instruction: what the model is told first.
        roles: `swapped` or `quoted`.
    """

    instruction: str = field(default="", kw_only=True)
    roles: str = field(default=SWAPPED, kw_only=True)

    def probe_parts(
        self, messages: Sequence[Message], answer: str | None, reasoning: str | None = None
    ) -> tuple[list[str], list[str]]:
        """Return the prompt for a played turn: the template's texts, and the contents between.

        Reasoning is left out, because a person does not see it.
        """
        played = conversation(self.instruction, self.roles, messages, answer)
        return self.split(played, add_generation_prompt=True)

    # A played turn begins and ends as an answer does, and the prompt has its whole beginning.
    # Without an answer, there is an empty message of the other side.

    @cached_property
    def user_header_text(self) -> str:
        """The template's text between the last message and the played turn."""
        return self.probe_parts(EXAMPLE[:1], EXAMPLE[1]["content"])[0][-1]

    @property
    def left_to_the_model(self) -> str:
        """Empty, because the prompt shows the beginning of an answer whole."""
        return ""

    @property
    def header_extent(self) -> str:
        """The word for role-play, which a description has in place of the header's form."""
        return PLAYED

    @property
    def header_is_by_hand(self) -> bool:
        """False, because the template itself writes the beginning of an answer."""
        return False

    @property
    def missing_answer(self) -> str:
        """The assistant's turn without an answer: an empty message of the other side."""
        return ""

    @property
    def stop_texts(self) -> tuple[str, ...]:
        """Texts that end a played turn, the same as for an answer."""
        return self.end_texts

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Tokens that end a played turn, the same as for an answer."""
        return self.end_token_ids
