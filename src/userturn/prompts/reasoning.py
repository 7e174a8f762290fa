"""Reasoning before an answer, as the prompts for answers have it: none, opened, or closed again."""

from typing import Any

from userturn.prompts.answer_layout import is_named_in
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE, NEXT_USER
from userturn.prompts.given_messages import NAME
from userturn.prompts.template_text import THINKING, settings_read
from userturn.prompts.tokenize import TemplateError

ON, OFF, CHOICE, NONE = "on", "off", "the model chooses", "none"


def thinking_state(template: Template) -> str:
    """Return `on`, `off`, `the model chooses`, or `none` for a template without reasoning.

    It is on where the prompt for an answer opens reasoning, and off where it closes it again, or
    where the template has a switch for reasoning and no text around it.
    """
    prompt = template.literals(EXAMPLE[:1], add_generation_prompt=True)[-1]
    source = str(template.tokenizer.chat_template)
    pairs = [
        pair for pair in template.answer_layout.thinking if is_named_in(source, template, pair)
    ]
    for begin, end in pairs:
        if begin in prompt:
            return OFF if prompt.rfind(end) > prompt.rfind(begin) else ON
    if pairs:
        return CHOICE
    return OFF if NAME.search(source) and _switches(source) else NONE


def _switches(source: str) -> list[str]:
    """Return the names of a chat template's settings that switch reasoning on or off."""
    return [name for name in settings_read(source, has_code=False) or () if NAME.fullmatch(name)]


def contradiction(template: Template, state: str) -> str | None:
    """Return a sentence if a model's entry contradicts its prompts on reasoning, else None."""
    thinking: Any = template.options.get(THINKING)
    if (thinking, state) not in ((False, ON), (True, OFF), (True, NONE)):
        return None
    own = [name for name in _switches(str(template.tokenizer.chat_template)) if name != THINKING]
    is_on = "the prompts for answers open reasoning" if state == ON else "no answer has reasoning"
    switch = f"set the template's own {' or '.join(map(repr, own))} in `template_options`, or "
    return (
        f"`{THINKING}` is {str(thinking).lower()}, and {is_on}; {switch if own else ''}"
        f"say `{THINKING}: {str(not thinking).lower()}` in the model's entry"
    )


def answer_beginning(template: Template) -> str:
    """Return the template's text between its generation prompt and an answer, often empty.

    The text is taken from an answer in the history. It is a channel, or the end of a reasoning
    block that the prompt opens.

    Raises:
        TemplateError: reasoning would come first, so that the next token is not the answer's.
    """
    prompt = template.literals(EXAMPLE[:1], add_generation_prompt=True)[-1]
    before = template.literals([*EXAMPLE, NEXT_USER])[1]
    added = before.removeprefix(prompt) if before.startswith(prompt) else ""
    whole = prompt + added
    pairs = template.answer_layout.thinking
    opened = [begin for begin, end in pairs if whole.rfind(begin) > whole.rfind(end)]
    if opened:
        raise TemplateError(
            f"the chat template opens reasoning before an answer: {opened[0]!r}; expected one that "
            "can leave it out: set the template's own variable in `template_options`, such as "
            "{enable_thinking: false}, or use `kind: endpoint`"
        )
    return added
