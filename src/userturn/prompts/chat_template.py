"""Derive prompts from a model's own chat template, and check them before use.

The probe prompt is the history as the model sees it and the model's own user header, which
header.py derives.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from userturn.datasets.messages import Message, ShownAnswer
from userturn.prompts.answer_form import AnswerForm, answer_form
from userturn.prompts.header import HeaderRenderer
from userturn.prompts.missing_answer import missing_answer
from userturn.prompts.stop_texts import answer_end_texts, user_turn_stop_texts
from userturn.prompts.stop_tokens import answer_ends, user_turn_stops
from userturn.prompts.tokenize import TemplateError, interleave

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
        user_header: replaces the text that the probe prompt ends in.
        stop: additional stops of the user turn: tokens or texts.
        end_of_sequence: end tokens that the model's generation config names.
    """

    stop: tuple[str, ...] = ()
    end_of_sequence: tuple[int, ...] = ()

    def answer_prompt(self, messages: Sequence[Message]) -> Prompt:
        """Return the prompt after which the model writes its own answer.

        Raises:
            TemplateError: no prompt can be proven for this conversation.
        """
        return self._prompt(*self.split(messages, add_generation_prompt=True))

    def probe_prompt(
        self, messages: Sequence[Message], answer: str | None, reasoning: str | None = None
    ) -> Prompt:
        """Return the prompt that ends in the model's own user header, after its answer.

        Args:
            messages: the item's messages; none for a prompt of the header alone.
            answer: the answer that the model is shown as its own; None for no answer, in which case
                `missing_answer` gives the assistant's turn.
            reasoning: what stood before that answer, if the template writes it into history.

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
        """The assistant's turn without an answer: "" for an empty turn, None for no turn."""
        return missing_answer(self)

    @cached_property
    def answer_form(self) -> AnswerForm:
        """The texts around the model's answers."""
        return AnswerForm.of(self.record) if self.record else answer_form(self)

    @cached_property
    def end_texts(self) -> tuple[str, ...]:
        """Texts that end the model's own answer."""
        return self._ends("end_of_answer_texts", answer_end_texts)

    @cached_property
    def stop_texts(self) -> tuple[str, ...]:
        """Texts that end a user turn."""
        return self._ends("stop_texts", user_turn_stop_texts)

    @property
    def has_stop_texts(self) -> bool:
        """Whether an engine has to decode its output to find the end of a turn."""
        return bool(self.stop_texts or self.end_texts)

    @cached_property
    def end_token_ids(self) -> tuple[int, ...]:
        """Tokens that end the model's own answer."""
        return self._ends("end_of_answer_token_ids", answer_ends)

    @cached_property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Tokens that end a user turn: ends of turns, starts of other turns, the entry's stops."""
        return self._ends("stop_token_ids", user_turn_stops)

    def _ends(self, name: str, derived: Callable[["Template"], tuple[End, ...]]) -> tuple[End, ...]:
        """Return what ends a turn: of a study as its description has it, else as derived."""
        return tuple(self.record.get(name, ())) if self.record else derived(self)
