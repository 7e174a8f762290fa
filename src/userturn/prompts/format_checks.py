"""Check a prompt format of a model before a study uses it: each of its levers does something."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import NamedTuple

from userturn.prompts.chat_template import Prompt, Template
from userturn.prompts.examples import EXAMPLE
from userturn.prompts.tokenize import TemplateError

ANSWER, PROBE = "the prompt for an answer", "the probe prompt"
CLAIMS: dict[str, Collection[str]] = {  # the prompts that each lever says it changes
    "header": {PROBE},
    "system": {ANSWER, PROBE},
    "probe": {PROBE},
    "roles": {PROBE},
    "instruction": {PROBE},
    "thinking": {ANSWER},
    "reasoning_effort": {ANSWER},
}
SHOWN = 60  # characters of a text that a sentence quotes


class Other(NamedTuple):
    """Another way of writing the prompts of the same model, from which a format must differ.

    Attributes:
        name: what a sentence calls it.
        template: the model's template in it.
        levers: the settings in which the format differs from it.
    """

    name: str
    template: Template
    levers: Collection[str]


def prove_format(template: Template, others: Sequence[Other]) -> str:
    """Return the sentence on how the prompts of a format differ from others'.

    Args:
        template: the model's template in the format.
        others: the default, the format without each of its levers, and the model's other formats.

    Raises:
        TemplateError: a lever changes no prompt, or the system prompt holds control tokens.
    """
    quoted = template.encoder.find(template.system or "")
    if quoted:
        raise TemplateError(
            f"the system prompt of this format holds {quoted[0]!r}, a control token of the model; "
            "take it out of the file"
        )
    own = _prompts(template)
    for other in others:
        theirs = _prompts(other.template)
        claimed = {prompt for lever in other.levers for prompt in CLAIMS.get(lever, ())}
        alike = [what for what in sorted(claimed) if own[what] == theirs[what]]
        if alike:
            levers = ", ".join(f"`{lever}`" for lever in sorted(set(other.levers) & set(CLAIMS)))
            raise TemplateError(
                f"{levers} of this format changes nothing: {alike[0]} is the same in {other.name}; "
                "take it out of the format, or leave the model out of it with `models`"
            )
    gone = template.left_out_system_prompt
    said = f"; the template's own system prompt is left out: {_short(gone)!r}" if gone else ""
    return f"each lever of the format changes the prompts that it names{said}"


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN // 2] + " … " + text[-SHOWN // 2 :]


def _prompts(template: Template) -> dict[str, Prompt | None]:
    """Return the prompts of an example without a system message; None for one refused."""
    prompts: dict[str, Prompt | None] = {ANSWER: None, PROBE: None}
    with suppress(TemplateError):
        prompts[ANSWER] = template.answer_prompt(EXAMPLE[:1])
    with suppress(TemplateError):
        prompts[PROBE] = template.probe_prompt(EXAMPLE[:1], EXAMPLE[1]["content"])
    return prompts
