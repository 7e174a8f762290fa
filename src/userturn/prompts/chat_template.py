"""Prompts derived from a model's own chat template, and proven before use.

The probe prompt is what the renderings of a conversation with different next user messages have
in common: the history as the model sees it, and the model's own user header.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

from userturn.config.entries import ModelEntry
from userturn.prompts.examples import EXAMPLE, NEXT_USER_MESSAGES, Message, user
from userturn.prompts.render import Renderer
from userturn.prompts.stop_tokens import answer_ends, user_turn_stops
from userturn.prompts.tokenize import Encoder, TemplateError, find_control_tokens, interleave

__all__ = ["Message", "Prompt", "Template", "TemplateError", "load_template"]


BY_HAND = (
    "to decide it by hand, give the model's entry `user_header`: the whole text between an answer "
    "and the user's turn"
)


@dataclass(frozen=True)
class Prompt:
    """What a model reads: text with special tokens visible, and its token ids."""

    text: str
    token_ids: tuple[int, ...]


@dataclass(frozen=True)
class Template(Renderer):
    """A chat template with the model entry's choices.

    Attributes:
        user_header: overrides the text that the probe prompt ends in.
        stop: further stop tokens of the user turn.
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
            answer: what the model is shown as its own answer, None for no answer at all.

        Raises:
            TemplateError: no prompt can be proven for this conversation.
        """
        return self._prompt(*self.probe_parts(messages, answer))

    def probe_parts(
        self, messages: Sequence[Message], answer: str | None
    ) -> tuple[list[str], list[str]]:
        """Return the probe prompt as the template's texts and, between them, the contents."""
        history = [*messages]
        if answer is not None:
            history.append({"role": "assistant", "content": answer})
        if self.header_is_by_hand and history:
            literals, contents = self.split(history)
            return [*literals[:-1], str(self.user_header)], contents
        try:
            literals, contents = self._proven(history)
        except TemplateError as error:
            raise TemplateError(f"{error}{self._cure()}") from error
        return [*literals[:-2], self._cut_header(literals)], contents

    def _proven(self, history: Sequence[Message]) -> tuple[list[str], list[str]]:
        """Return the template's texts around history and a next user message, and its contents.

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
        """The text between an answer and the user's turn."""
        if self.header_is_by_hand:
            return str(self.user_header)
        return self._cut_header(self._proven(EXAMPLE)[0])

    @cached_property
    def header_is_by_hand(self) -> bool:
        """Whether the model entry's header stands where the template's cannot be derived."""
        return self.user_header is not None and not self._is_derivable

    @cached_property
    def _is_derivable(self) -> bool:
        try:
            self._proven(EXAMPLE)
        except TemplateError:
            return False
        return True

    def _cure(self) -> str:
        """Return what to do about a model whose header cannot be derived, if anything can help."""
        try:
            self.split(EXAMPLE)
        except TemplateError:
            return ""
        return "" if self._is_derivable else f"; {BY_HAND}"

    def _cut_header(self, literals: Sequence[str]) -> str:
        """Return the text between answer and user turn, with the model entry's override.

        Raises:
            TemplateError: there is no header, or the override does not fit the derived text.
        """
        derived = literals[-2]
        if not derived.strip() or literals[-3:-2] == [derived]:
            raise TemplateError(
                f"the chat template writes {derived!r} before every message, so nothing says that "
                "the user speaks; such a model has no user header, leave it out"
            )
        if self.user_header is None:
            return derived
        before, found, _ = derived.rpartition(self.user_header)
        if found:
            return before + found
        controls = self.encoder.find(derived)
        if controls and not self.user_header.lstrip().startswith(controls[0]):
            raise TemplateError(
                f"user_header {self.user_header!r} does not fit the template's {derived!r}: it "
                "must be a part of that text, which is then cut after it, or replace all of it "
                f"and so begin with {controls[0]!r}; correct the model's entry"
            )
        return self.user_header

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

    @cached_property
    def end_token_ids(self) -> tuple[int, ...]:
        """Tokens that end the model's own answer."""
        return answer_ends(self)

    @cached_property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Tokens that end a user turn: ends of a turn, beginnings of others, the model entry's."""
        return user_turn_stops(self)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of token ids, special tokens kept."""
        return str(
            self.tokenizer.decode(
                list(token_ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    def is_empty(self, token_ids: Sequence[int], text: str) -> bool:
        """Tell whether token ids say nothing: no text but control tokens and white space.

        `text` is what they decode to, which is known already where this is asked.
        """
        controls = set(self.control_tokens.values())
        said = [i for i in token_ids if i not in controls]
        return not (text if len(said) == len(token_ids) else self.decode(said)).strip()


def load_template(folder: Path, entry: ModelEntry, today: str) -> Template:
    """Return the template of a model folder with the choices of the model's entry.

    Raises:
        TemplateError: the folder has no tokenizer or no chat template.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=entry.get("trust_remote_code", False)
        )
    except (OSError, ValueError, ImportError) as error:
        raise TemplateError(
            f"model folder '{folder}' has no tokenizer that transformers can load "
            f"({str(error).splitlines()[0]}); expected tokenizer.json beside config.json"
        ) from error
    if "chat_template" in entry:
        tokenizer.chat_template = Path(entry["chat_template"]).read_text()
    if not getattr(tokenizer, "chat_template", None):
        raise TemplateError(
            f"model folder '{folder}' has no chat template, so it has no user header; expected "
            "chat_template.jinja, or `chat_template` in the model's entry: a file with one"
        )
    return Template(
        tokenizer,
        date.fromisoformat(today),
        {"enable_thinking": entry["enable_thinking"], **entry.get("template_options", {})},
        entry.get("user_header"),
        tuple(entry.get("stop", ())),
        _end_of_sequence(folder),
    )


def _end_of_sequence(folder: Path) -> tuple[int, ...]:
    """Return the end tokens that a model folder's generation config names."""
    path = folder / "generation_config.json"
    ends = json.loads(path.read_text()).get("eos_token_id") if path.is_file() else None
    return tuple(ends) if isinstance(ends, list) else () if ends is None else (ends,)
