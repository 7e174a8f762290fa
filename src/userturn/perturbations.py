"""Perturbations: named operators on the answer, or on its context, before the probe."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from userturn.templates import Message


class Tokenizer(Protocol):
    """The part of a tokenizer that operators use."""

    def encode(self, text: str, add_special_tokens: bool = ...) -> list[int]:
        """Return token ids."""

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return text."""


@dataclass(frozen=True)
class Context:
    """The conversation that a probe prompt is made of, and what an operator changed in it.

    Attributes:
        messages: the item's messages, the last one the user's.
        answer: the answer that the model is shown as its own.
        change: what the operator did, in plain values; empty where it did nothing.
    """

    messages: Sequence[Message]
    answer: str
    change: Mapping[str, Any]


Operator = Callable[[Context, Mapping[str, Any], Tokenizer], Context]


def keep_answer(context: Context, settings: Mapping[str, Any], tokenizer: Tokenizer) -> Context:
    """Change nothing."""
    return context


def truncate(context: Context, settings: Mapping[str, Any], tokenizer: Tokenizer) -> Context:
    """Keep the first share `keep` of the answer's tokens, rounded down, at least one."""
    ids = tokenizer.encode(context.answer, add_special_tokens=False)
    n_kept = min(len(ids), max(1, int(len(ids) * settings["keep"])))
    change = {"n_tokens": len(ids), "n_tokens_kept": n_kept}
    return Context(context.messages, tokenizer.decode(ids[:n_kept]), change)


def generic_question(
    context: Context, settings: Mapping[str, Any], tokenizer: Tokenizer
) -> Context:
    """Append the sentence `text` to the answer, as a last paragraph."""
    answer = f"{context.answer.rstrip()}\n\n{settings['text']}"
    return Context(context.messages, answer, {"appended": settings["text"]})


OPERATORS: dict[str, Operator] = {
    "none": keep_answer,
    "truncate": truncate,
    "generic_question": generic_question,
}


def perturb(context: Context, settings: Mapping[str, Any], tokenizer: Tokenizer) -> Context:
    """Return the context after the operator that `settings` names."""
    return OPERATORS[settings["operator"]](context, settings, tokenizer)
