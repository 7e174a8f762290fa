"""What a template writes in place of a removed answer: an empty assistant's turn, or none."""

from typing import TYPE_CHECKING

from userturn.datasets.messages import Message
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.tokenize import TemplateError

if TYPE_CHECKING:
    from userturn.prompts.chat_template import Template

EMPTY: Message = {"role": "assistant", "content": ""}


def missing_answer(template: "Template") -> str | None:
    """Return "" for an empty assistant's turn, None if the turn is left out.

    It is left out if the template refuses an empty turn, or hides it.

    Raises:
        TemplateError: the template refuses both.
    """
    question = EXAMPLE[0]
    try:
        with_turn = template.probe_after([question, EMPTY])
    except TemplateError:
        template.probe_after([question])
        return None
    try:
        return None if with_turn == template.probe_after([question]) else ""
    except TemplateError:
        return ""


def prove_missing_answer(template: "Template") -> str:
    """Return a sentence that says what the template writes without an answer."""
    try:
        literals, _ = template.probe_parts(EXAMPLE[:1], None)
    except TemplateError:
        return "a probe without an answer ends in an error, never as a prompt"
    turn = "left out" if template.missing_answer is None else "empty"
    return f"without an answer the assistant's turn is {turn}: {literals[-1]!r}"
