"""Where an answer begins without reasoning: after the prompt, and what the template adds to it."""

from typing import TYPE_CHECKING

from userturn.prompts.examples import EXAMPLE, NEXT_USER
from userturn.prompts.tokenize import TemplateError

if TYPE_CHECKING:
    from userturn.prompts.chat_template import Template


def answer_beginning(template: "Template") -> str:
    """Return what a template writes between its generation prompt and an answer, often nothing.

    It is read off an answer in the history: a channel, or the end of a reasoning block that the
    prompt opens.

    Raises:
        TemplateError: reasoning would come first, so that the next token is not the answer's.
    """
    prompt = template.literals(EXAMPLE[:1], add_generation_prompt=True)[-1]
    before = template.literals([*EXAMPLE, NEXT_USER])[1]
    added = before.removeprefix(prompt) if before.startswith(prompt) else ""
    whole = prompt + added
    pairs = template.answer_form.thinking
    opened = [begin for begin, end in pairs if whole.rfind(begin) > whole.rfind(end)]
    if opened:
        raise TemplateError(
            f"the chat template opens reasoning before an answer: {opened[0]!r}; expected one that "
            "can leave it out: set the template's own variable in `template_options`, such as "
            "{enable_thinking: false}, or use `kind: endpoint`"
        )
    return added
