"""Derive prompts from a model's own chat template, and check them before use.

The probe prompt is the common beginning of a conversation's renderings with different next user
messages: the history as the model sees it, and the model's own user header.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from userturn.datasets.messages import Message
from userturn.prompts.answer_form import AnswerForm, answer_form
from userturn.prompts.examples import (
    EXAMPLE,
    NEXT_MESSAGES_BY_BEGINNING,
    NEXT_USER_MESSAGES,
    user,
)
from userturn.prompts.header import (
    check_names_the_user,
    choose_header,
    is_true_prefix,
    left_to_the_model,
)
from userturn.prompts.missing_answer import missing_answer
from userturn.prompts.render import Renderer
from userturn.prompts.stop_texts import answer_end_texts, user_turn_stop_texts
from userturn.prompts.stop_tokens import answer_ends, user_turn_stops
from userturn.prompts.tokenize import TemplateError, interleave

__all__ = ["Prompt", "Template", "TemplateError"]


BY_HAND = (
    "to set it yourself, give the model's entry a `user_header`: the whole text between an answer "
    "and the user's turn"
)


@dataclass(frozen=True)
class Prompt:
    """The input of a model: text with special tokens visible, and its token ids."""

    text: str
    token_ids: tuple[int, ...]


@dataclass(frozen=True)
class Template(Renderer):
    """A chat template with the model entry's choices.

    Attributes:
        user_header: replaces the text that the probe prompt ends in.
        stop: additional stops of the user turn: tokens or texts.
        end_of_sequence: end tokens that the model's generation config names.
    """

    user_header: str | None = None
    stop: tuple[str, ...] = ()
    end_of_sequence: tuple[int, ...] = ()

    def answer_prompt(self, messages: Sequence[Message]) -> Prompt:
        """Return the prompt after which the model writes its own answer.

        Raises:
            TemplateError: no prompt can be proven for this conversation.
        """
        return self._prompt(*self.split(messages, add_generation_prompt=True))

    def probe_prompt(self, messages: Sequence[Message], answer: str | None) -> Prompt:
        """Return the prompt that ends in the model's own user header, after its answer.

        Args:
            messages: the item's messages; none for a prompt of the header alone.
            answer: the answer that the model is shown as its own; None for no answer, in which case
                `missing_answer` gives the assistant's turn.

        Raises:
            TemplateError: no prompt can be proven for this conversation.
        """
        return self._prompt(*self.probe_parts(messages, answer))

    def probe_parts(
        self, messages: Sequence[Message], answer: str | None
    ) -> tuple[list[str], list[str]]:
        """Return the probe prompt in two lists: the template's texts, and the contents between."""
        if answer is None and messages:
            answer = self.missing_answer
        history = [*messages]
        if answer is not None:
            history.append({"role": "assistant", "content": answer})
        return self.probe_after(history)

    def probe_after(self, history: Sequence[Message]) -> tuple[list[str], list[str]]:
        """Return the probe prompt's texts and contents after a conversation, answered or not."""
        literals, contents = self._with_header(history)
        header = literals[-1].removesuffix(self.left_to_the_model)
        if header == literals[-1] and self.left_to_the_model:
            raise TemplateError(
                f"the chat template writes {header!r} before this user's turn, which does not end "
                f"in {self.left_to_the_model!r} as before others; leave that item out"
            )
        self._check_item([*literals[:-1], header], literals[-1], contents)
        return [*literals[:-1], header], contents

    def _with_header(self, history: Sequence[Message]) -> tuple[list[str], list[str]]:
        """Return the template's texts to the end of the chosen header, and the contents."""
        if self.header_is_by_hand and history:
            literals, contents = self.split(history)
            return [*literals[:-1], str(self.user_header)], contents
        try:
            literals, contents = self._proven(history)
        except TemplateError as error:
            raise TemplateError(f"{error}{self._cure()}") from error
        self._check_names_the_user(literals)
        return [
            *literals[:-2],
            choose_header(literals[-2], self.user_header, self.encoder),
        ], contents

    def _check_item(self, shown: list[str], header: str, contents: list[str]) -> None:
        """Check the tokens of an item if no control token separates its answer and the header."""
        if self.encoder.find(shown[-1]) or not contents:
            return
        ids = self.encoder.encode(shown, contents)
        whole = [*shown[:-1], header + self._behind_header]
        if not is_true_prefix(self.encoder, ids, whole, contents, self._next_messages[:1]):
            raise TemplateError(
                "the tokens of this item's prompt are not the beginning of a real conversation's; "
                "leave that item out"
            )

    def _check_names_the_user(self, literals: Sequence[str]) -> None:
        try:
            after_answer = self.literals(EXAMPLE)[-1]
        except TemplateError:
            after_answer = None
        check_names_the_user(literals, after_answer)

    def _proven(self, history: Sequence[Message]) -> tuple[list[str], list[str]]:
        """Return the template's texts around the history and a next user message, and the contents.

        Raises:
            TemplateError: a real next user message is not rendered after the same text.
        """
        shown = []
        for text in NEXT_USER_MESSAGES:
            literals, contents = self.split([*history, user(text)])
            if contents.pop() != text:
                raise TemplateError("the chat template alters the user's next message")
            shown.append(contents)
        if shown[0] != shown[1]:
            raise TemplateError("the chat template shows history differently before each message")
        return literals, shown[0]

    @cached_property
    def user_header_text(self) -> str:
        """The text that the model is shown between an answer and the user's turn."""
        return self._with_header(EXAMPLE)[0][-1].removesuffix(self.left_to_the_model)

    @cached_property
    def left_to_the_model(self) -> str:
        """The end of the header, if the model writes it itself; empty for most models."""
        literals, contents = self._with_header(EXAMPLE)
        messages = self._next_messages
        return left_to_the_model(self.encoder, literals, contents, self._behind_header, messages)

    @cached_property
    def _next_messages(self) -> list[str]:
        """Next user messages that begin in different ways, as the template shows them."""
        texts = list(NEXT_MESSAGES_BY_BEGINNING.values())
        if self.header_is_by_hand:
            return texts
        return [self.split([*EXAMPLE, user(text)])[1][-1] for text in texts]

    @cached_property
    def _behind_header(self) -> str:
        """The template's text between a header that the entry cut short and the message."""
        if self.header_is_by_hand or self.user_header is None:
            return ""
        derived = self._proven(EXAMPLE)[0][-2]
        return derived.rpartition(self.user_header)[2] if self.user_header in derived else ""

    @cached_property
    def header_is_by_hand(self) -> bool:
        """Whether the header is the model entry's because none can be derived."""
        return self.user_header is not None and not self._is_derivable

    @cached_property
    def _is_derivable(self) -> bool:
        try:
            self._proven(EXAMPLE)
        except TemplateError:
            return False
        return True

    def _cure(self) -> str:
        """Return the advice for a model whose header cannot be derived; empty if nothing helps."""
        try:
            self.split(EXAMPLE)
        except TemplateError:
            return ""
        return "" if self._is_derivable else f"; {BY_HAND}"

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
        return answer_form(self)

    @cached_property
    def end_texts(self) -> tuple[str, ...]:
        """Texts that end the model's own answer."""
        return answer_end_texts(self)

    @cached_property
    def stop_texts(self) -> tuple[str, ...]:
        """Texts that end a user turn."""
        return user_turn_stop_texts(self)

    @property
    def has_stop_texts(self) -> bool:
        """Whether an engine has to decode its output to find the end of a turn."""
        return bool(self.stop_texts or self.end_texts)

    @cached_property
    def end_token_ids(self) -> tuple[int, ...]:
        """Tokens that end the model's own answer."""
        return answer_ends(self)

    @cached_property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Tokens that end a user turn: ends of turns, starts of other turns, the entry's stops."""
        return user_turn_stops(self)
