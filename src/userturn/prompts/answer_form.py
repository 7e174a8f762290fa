"""What a model writes around the text of its answer, derived from its chat template.

Between the generation prompt and an answer, templates write what the model is trained to write
itself: a channel, a response token, the end of its reasoning. It is not part of the answer.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from userturn.prompts.examples import EXAMPLE, NEXT_USER_MESSAGES, user
from userturn.prompts.tokenize import TemplateError

if TYPE_CHECKING:
    from userturn.prompts.chat_template import Template

# Forms that templates describe in words and leave out of history; both texts must be named.
WRAPPERS = (
    ("<response>", "</response>"),
    ("<answer>", "</answer>"),
    ("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"),
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
)
# Pairs of texts with which models begin and end their reasoning.
THINKING = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<thought>", "</thought>"),
    ("<thinking>", "</thinking>"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel>thought", "<channel|>"),
)
COMMON = THINKING[:3]  # looked for in every model's answers


@dataclass(frozen=True)
class AnswerForm:
    """The texts around a model's answers.

    Attributes:
        wrappers: pairs of texts around an answer; the second may be empty.
        thinking: pairs of texts around reasoning.
        control_tokens: texts of the control tokens, which no answer may contain.
        has_special_opening: whether special tokens stand between generation prompt and answer.
        reasons_first: whether the generation prompt begins reasoning that the first wrapper ends.
    """

    wrappers: tuple[tuple[str, str], ...] = ()
    thinking: tuple[tuple[str, str], ...] = COMMON
    control_tokens: Mapping[str, int] | None = None
    has_special_opening: bool = False
    reasons_first: bool = False

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> "AnswerForm":
        """Return the form in a model's description; the common one if it has none."""
        noted = dict(description.get("answer_form", {}))
        for key in ("wrappers", "thinking"):
            if key in noted:
                noted[key] = tuple((begin, end) for begin, end in noted[key])
        return cls(**noted)

    def to_json(self) -> dict[str, Any]:
        """Return the form as `of` reads it."""
        return asdict(self)


def answer_form(template: "Template") -> AnswerForm:
    """Return the form of answers that a template implies."""
    source = str(template.tokenizer.chat_template)
    opening, closing, is_behind_prompt = _around_answer(template)
    named = [pair for pair in WRAPPERS if all(mark in source for mark in pair)]
    known = [pair for pair in THINKING if pair in COMMON or all(mark in source for mark in pair)]
    ends = {end for _, end in known}
    closing = next((end for begin, end in WRAPPERS if opening.endswith(begin)), closing)
    derived = [(opening, closing)] if opening and opening not in ends else []
    wrappers = [*derived, *(pair for pair in named if pair[0] not in opening)]
    added = template.tokenizer.added_tokens_decoder.values()
    special = {token.content for token in added if token.special}
    is_special = any(token in special for token in template.encoder.find(opening))
    controls = dict(template.control_tokens)
    reasons_first = bool(derived) and not is_behind_prompt
    return AnswerForm(tuple(wrappers), tuple(known), controls, is_special, reasons_first)


def _around_answer(template: "Template") -> tuple[str, str, bool]:
    """Return the texts before and after an answer, and whether history contains the prompt."""
    try:
        prompt = template.literals(EXAMPLE[:1], add_generation_prompt=True)[-1]
        _, before, behind, _ = template.literals([*EXAMPLE, user(NEXT_USER_MESSAGES[0])])
    except TemplateError:
        return "", "", True
    opening = _rest(template, before, prompt).strip()
    controls = template.encoder.find(behind)
    eos = template.tokenizer.eos_token
    end = behind.partition(eos)[0] if eos and eos in behind else ""
    if not end and controls:
        end = behind[: behind.index(controls[0])]
    closing = end.strip() if len(end.strip()) < len(behind.strip()) else ""
    return opening, closing, before.startswith(prompt)


def _rest(template: "Template", before: str, prompt: str) -> str:
    """Return the text before an answer in history that is not in the generation prompt."""
    if prompt.startswith(before):
        return ""
    if before.startswith(prompt):
        return before[len(prompt) :]
    n_shared = next(i for i, (a, b) in enumerate(zip(before, prompt, strict=False)) if a != b)
    begin = 0
    for token in template.encoder.find(before):
        place = before.index(token, begin)
        if place > n_shared:
            break
        begin = place
    return before[begin:] if template.encoder.find(before[begin:]) else ""
