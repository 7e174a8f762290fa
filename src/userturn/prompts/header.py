"""The user header: what stands between an answer and the user's turn, and how much of it is shown.

A conversation is rendered with different next user messages. What these renderings have in common
is the history as the model sees it and, after the last answer, the user header.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from userturn.datasets.messages import Message
from userturn.prompts.examples import (
    AFTER_A_LINE_BREAK,
    EXAMPLE,
    FIRST_CHARACTERS,
    NEXT_MESSAGES_BY_BEGINNING,
    NEXT_USER_MESSAGES,
    user,
)
from userturn.prompts.render import Renderer
from userturn.prompts.tokenize import Encoder, TemplateError

SHARED = "shared"


def header_of(description: Mapping[str, Any]) -> str:
    """Return how much of the user header a described model is shown.

    Descriptions of earlier versions do not say. Their models are shown what all messages share.
    """
    return str(description.get("header", SHARED))


NO_HEADER = "so nothing says that the user speaks; such a model has no user header, leave it out"
BY_HAND = (
    "to set it yourself, give the model's entry a `user_header`: the whole text between an answer "
    "and the user's turn"
)


@dataclass(frozen=True)
class HeaderRenderer(Renderer):
    """A chat template that renders a conversation up to its user header.

    The header is what the vendor's template writes before a message without leading white space.
    Earlier studies keep their shorter header, which is what all messages share and often lacks its
    last line break.

    Attributes:
        user_header: the entry's own header (`choose_header`), or None for the template's.
        is_bare: whether `user_header` is the name of the role.
        record: the model's description in its study, whose header and ends are kept. If it is
            empty, this version derives them.
        is_shared: whether the header is derived as that of earlier studies was.
    """

    user_header: str | None = None
    is_bare: bool = field(default=False, kw_only=True)
    record: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    is_shared: bool = field(default=False, kw_only=True)

    @cached_property
    def user_header_text(self) -> str:
        """The text that the model is shown between an answer and the user's turn.

        It is the longest beginning of the chosen header whose token ids begin those of every real
        conversation.

        Raises:
            TemplateError: no header can be derived, or no beginning of it has such token ids.
        """
        if self.record:
            return str(self.record["user_header"])
        (*before, header), contents = self._header_texts(EXAMPLE)
        controls = self.encoder.find(header)
        plain = (
            header[header.rindex(controls[-1]) + len(controls[-1]) :] if controls else header[1:]
        )
        for n_left in range(len(plain) + 1):
            text = header[: len(header) - n_left]
            if self._begins_each([*before, text], header, contents, self._next_messages):
                return text
        raise TemplateError(
            f"no part of the user header {header!r} has tokens that begin those of every user "
            "message; this tokenizer cannot be used, leave the model out"
        )

    @cached_property
    def left_to_the_model(self) -> str:
        """The rest of the vendor's header, which the model writes itself, empty for most models."""
        if self.record:
            return str(self.record.get("left_to_the_model", ""))
        return self._left + ("" if self.is_shared else self._behind_header)

    @cached_property
    def header_extent(self) -> str:
        """How much of the vendor's header is shown: `complete`, `bare`, or what is `shared` by all.

        It is `the entry's` where the entry has a header of its own.
        """
        if self.record:
            return header_of(self.record)
        if self.is_bare:
            return "bare"
        if self.user_header is not None:
            return "the entry's"
        return SHARED if self.is_shared else "complete"

    @cached_property
    def _left(self) -> str:
        return self._header_texts(EXAMPLE)[0][-1].removeprefix(self.user_header_text)

    @cached_property
    def header_is_by_hand(self) -> bool:
        """Whether the header is the model entry's because none can be derived."""
        return self.user_header is not None and not self._is_derivable

    def probe_after(self, history: Sequence[Message]) -> tuple[list[str], list[str]]:
        """Return the probe prompt's texts and contents after a history, or raise TemplateError."""
        literals, contents = self._header_texts(history)
        header = literals[-1].removesuffix(self._left)
        if header == literals[-1] and self._left:
            raise TemplateError(
                f"the chat template writes {header!r} before this user's turn, which does not end "
                f"in {self._left!r} as before others; leave that item out"
            )
        self._check_item([*literals[:-1], header], literals[-1], contents)
        return [*literals[:-1], header], contents

    def _header_texts(self, history: Sequence[Message]) -> tuple[list[str], list[str]]:
        """Return the template's texts to the end of the chosen header, and the contents."""
        if self.header_is_by_hand and history:
            literals, contents = self.split(history)
            return [*literals[:-1], str(self.user_header)], contents
        try:
            literals, contents = self._proven(history)
        except TemplateError as error:
            raise TemplateError(f"{error}{self._cure()}") from error
        try:
            after_answer = self.literals(EXAMPLE)[-1]
        except TemplateError:
            after_answer = ""
        _check_names_the_user(literals, after_answer)
        return [
            *literals[:-2],
            choose_header(literals[-2], self.user_header, self.encoder),
        ], contents

    def _proven(self, history: Sequence[Message]) -> tuple[list[str], list[str]]:
        """Return the template's texts around the history and a next user message, and the contents.

        Raises:
            TemplateError: a real next user message is not rendered after the same text.
        """
        proofs = []
        for text in NEXT_USER_MESSAGES:
            literals, contents = self.split([*history, user(text)])
            if contents.pop() != text:
                raise TemplateError("the chat template alters the user's next message")
            proofs.append(contents)
        if proofs[0] != proofs[1]:
            raise TemplateError("the chat template shows history differently before each message")
        return literals, proofs[0]

    @cached_property
    def _is_derivable(self) -> bool:
        try:
            self._proven(EXAMPLE)
        except TemplateError:
            return False
        return True

    def _cure(self) -> str:
        try:
            self.split(EXAMPLE)
        except TemplateError:
            return ""
        return "" if self._is_derivable else f"; {BY_HAND}"

    def _check_item(self, shown: list[str], header: str, contents: list[str]) -> None:
        """Check the tokens of an item if no control token separates its answer and the header."""
        if self.encoder.find(shown[-1]) or not contents:
            return
        if not self._begins_each(shown, header, contents, self._next_messages[:1]):
            raise TemplateError(
                "the tokens of this item's prompt are not the beginning of a real conversation's; "
                "leave that item out"
            )

    def _begins_each(
        self, shown: Sequence[str], header: str, contents: Sequence[str], messages: Sequence[str]
    ) -> bool:
        """Return whether the conversation with each message begins with a prompt's token ids."""
        ids = self.encoder.encode(shown, contents)
        whole = [*shown[:-1], header + self._behind_header, ""]
        longer = (self.encoder.encode(whole, [*contents, message]) for message in messages)
        return all(one[: len(ids)] == ids for one in longer)

    @cached_property
    def _next_messages(self) -> list[str]:
        """Next user messages that begin in different ways, as the template shows them."""
        texts = [*NEXT_MESSAGES_BY_BEGINNING.values(), *FIRST_CHARACTERS]
        if self.is_shared:
            texts = [*NEXT_MESSAGES_BY_BEGINNING.values(), AFTER_A_LINE_BREAK]
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


def _check_names_the_user(literals: Sequence[str], after_answer: str) -> None:
    """Refuse a header that is blank, the same as before an answer, or the answer's own end.

    The literals are those around a history and a next user message. `after_answer` is
    the template's text behind an answer that nothing follows.
    """
    derived = literals[-2]
    if not derived.strip() or literals[-3:-2] == [derived]:
        raise TemplateError(
            f"the chat template writes {derived!r} before every message, {NO_HEADER}"
        )
    if not after_answer.strip() or not derived.startswith(after_answer):
        return
    first = literals[0].strip()
    if not derived.removeprefix(after_answer).strip() and not (
        first and derived.rstrip().endswith(first.splitlines()[-1])
    ):
        raise TemplateError(
            f"the chat template writes {derived!r} after every answer and nothing more before a "
            f"user message, {NO_HEADER}"
        )


def choose_header(derived: str, chosen: str | None, encoder: Encoder) -> str:
    """Return the text between answer and user turn: derived, or the entry's override `chosen`.

    An override that is a part of the derived text ends it. Another one replaces all of it.

    Raises:
        TemplateError: the override does not fit the derived text.
    """
    if chosen is None:
        return derived
    before, match, _ = derived.rpartition(chosen)
    if match:
        return before + match
    controls = encoder.find(derived)
    if controls and not chosen.lstrip().startswith(controls[0]):
        raise TemplateError(
            f"user_header {chosen!r} does not fit the template's {derived!r}: it must "
            "be a part of that text, which is then cut off after it, or replace all of it "
            f"and so begin with {controls[0]!r}; correct the model's entry"
        )
    return chosen
