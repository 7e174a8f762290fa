"""Texts that end a turn, for templates that continue in plain text without a control token."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from userturn.datasets.messages import Message
from userturn.prompts.examples import EXAMPLE, NEXT_USER
from userturn.prompts.stop_tokens import added_tokens
from userturn.prompts.template_text import shared_beginning
from userturn.prompts.tokenize import TemplateError

if TYPE_CHECKING:
    from userturn.prompts.chat_template import Template


def plain_beginning(template: "Template", literal: str) -> str:
    """Return the first line of a template's text before any control token, or "".

    It begins with the white space before it, a line break or else a space: `A:` at the beginning of
    a line ends a turn, and `Option A: 4` does not.
    """
    controls = template.encoder.find(literal)
    plain = literal[: literal.index(controls[0])] if controls else literal
    text = next(iter(plain.strip().splitlines()), "").strip()
    if not text:
        return ""
    before = plain[: plain.index(text)]
    return before[before.rfind("\n") :] + text if "\n" in before else before[-1:] + text


def answer_end_texts(template: "Template") -> tuple[str, ...]:
    """Return the texts that end an answer: plain text that follows it, without what is counted."""
    rounds = ([*EXAMPLE, NEXT_USER], [*EXAMPLE, *EXAMPLE, NEXT_USER])
    texts = [plain_beginning(template, _literal(template, said, -2)) for said in rounds]
    shared = shared_beginning(*texts) if all(texts) else texts[0]
    return (shared,) if shared.strip() else ()


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
