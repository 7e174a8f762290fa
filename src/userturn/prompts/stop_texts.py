"""Texts that end a turn, for templates that continue in plain text without a control token."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from userturn.datasets.messages import Message
from userturn.prompts.examples import EXAMPLE, NEXT_USER
from userturn.prompts.stop_tokens import added_tokens
from userturn.prompts.tokenize import TemplateError

if TYPE_CHECKING:
    from userturn.prompts.chat_template import Template


def plain_beginning(template: "Template", literal: str) -> str:
    """Return the first line of a template's text before any control token, or "".

    White space at its ends is ignored.
    """
    controls = template.encoder.find(literal)
    plain = literal[: literal.index(controls[0])] if controls else literal
    return next(iter(plain.strip().splitlines()), "").strip()


def answer_end_texts(template: "Template") -> tuple[str, ...]:
    """Return the texts that end an answer: plain text that follows it on its own line."""
    behind = _literal(template, [*EXAMPLE, NEXT_USER], -2)
    text = plain_beginning(template, behind)
    return (f"\n{text}" if "\n" in behind.partition(text)[0] else text,) if text else ()


def user_turn_stop_texts(template: "Template") -> tuple[str, ...]:
    """Return the texts that end a user turn: what follows it or an answer, and the entry's."""
    behind = (
        _literal(template, EXAMPLE[:1], -1, add_generation_prompt=True),
        _literal(template, [*EXAMPLE, NEXT_USER], 1),
    )
    texts = {plain_beginning(template, literal) for literal in behind}
    texts.update(answer_end_texts(template))
    texts.update(set(template.stop) - set(added_tokens(template.tokenizer)))
    texts.discard("")
    return tuple(sorted(t for t in texts if not any(o in t for o in texts - {t})))


def _literal(
    template: "Template",
    messages: Sequence[Message],
    position: int,
    add_generation_prompt: bool = False,
) -> str:
    """Return one of the template's texts; "" if it refuses the conversation."""
    try:
        return template.literals(messages, add_generation_prompt)[position]
    except TemplateError:
        return ""
