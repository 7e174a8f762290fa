"""Check a prompt format of a model before a study uses it."""

from collections.abc import Iterator

from userturn.prompts.chat_template import Prompt, Template
from userturn.prompts.examples import EXAMPLE, SYSTEM
from userturn.prompts.tokenize import TemplateError


def prove_format(template: Template, default: Template) -> str:
    """Return the sentence on how the prompts of a format differ from the default ones.

    Args:
        template: the model's template in the format.
        default: its template as its entry says.

    Raises:
        TemplateError: no prompt differs, or the system prompt holds control tokens.
    """
    quoted = template.encoder.find(template.system or "")
    if quoted:
        raise TemplateError(
            f"the system prompt of this format holds {quoted[0]!r}, a control token of the model; "
            "take it out of the file"
        )
    if list(_prompts(template)) == list(_prompts(default)):
        raise TemplateError(
            "this format changes no prompt of the model, so its cells would be those of the "
            "default format; leave the model out of it with `models`"
        )
    return "the format changes the prompts"


def _prompts(template: Template) -> Iterator[Prompt | None]:
    """Yield the prompts of examples, before an answer and after one; None for one refused."""
    for messages in (EXAMPLE[:1], (SYSTEM, EXAMPLE[0])):
        for prompt in (template.answer_prompt, lambda m: template.probe_prompt(m, "Four.")):
            try:
                yield prompt(messages)
            except TemplateError:
                yield None
