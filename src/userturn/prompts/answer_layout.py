"""What a model writes around the text of its answer, derived from its chat template.

Between the generation prompt and an answer, templates write what the model is trained to write
itself: a channel, a response token, the end of its reasoning. It is not part of the answer.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from userturn.datasets.messages import REASONING, Message, ShownAnswer
from userturn.prompts.examples import EXAMPLE, NEXT_USER, NEXT_USER_MESSAGES, user
from userturn.prompts.render import Renderer
from userturn.prompts.template_text import remove_comments, shared_beginning
from userturn.prompts.tokenize import TemplateError

# Wrappers that templates describe in words and leave out of history. Both texts must be named.
WRAPPERS = (
    ("<response>", "</response>"),
    ("<answer>", "</answer>"),
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
)
# Wrappers that not every template of a vendor names, by a token of that vendor alone (Hunyuan).
UNNAMED = {"<|extra_4|>": ("<answer>", "</answer>")}
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
    ("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
)
COMMON = THINKING[:3]  # looked for in every model's answers
BEHIND_THINKING = {"[BEGIN FINAL RESPONSE]": "[END FINAL RESPONSE]"}  # what ends the answer then
OTHER_CHANNEL = re.compile(r"/\w+\n")  # HyperCLOVA X continues "assistant" so before it thinks
NAMES_THINKING = re.compile("think|thought|reason", re.IGNORECASE)


@dataclass(frozen=True)
class AnswerLayout:
    """The texts around a model's answers.

    Attributes:
        wrappers: pairs of texts around an answer, of which the first that fits counts. An end
            without a beginning is removed from every answer.
        thinking: pairs of texts around reasoning.
        control_tokens: ids of the control tokens by text, which no answer may contain, or None.
        has_special_opening: whether special tokens stand between generation prompt and answer.
        reasons_first: whether the generation prompt begins reasoning that the first wrapper ends.
        required: plain text that every answer must begin with. It is a line break if the generation
            prompt ends within a line, since the model may go on there with another channel.
        keeps_reasoning: whether the template writes reasoning into history.
        names_cut_reasoning: whether an answer that was cut inside its reasoning is recorded with
            that reason, which studies of earlier versions do not do.
    """

    wrappers: tuple[tuple[str, str], ...] = ()
    thinking: tuple[tuple[str, str], ...] = COMMON
    control_tokens: Mapping[str, int] | None = None
    has_special_opening: bool = False
    reasons_first: bool = False
    required: str = ""
    keeps_reasoning: bool = False
    names_cut_reasoning: bool = False

    def shown(self, text: str, reasoning: str | None) -> ShownAnswer:
        """Return an answer as the model is shown it: its reasoning only if history keeps that."""
        return ShownAnswer(text, reasoning if self.keeps_reasoning else None)

    @property
    def first_words(self) -> str:
        """Plain words that every answer must begin with, empty for most models."""
        return self.required if self.required.strip() else ""

    def is_other_channel(self, text: str) -> bool:
        """Return whether a text continues the prompt's line with the name of another channel."""
        return self.required == "\n" and OTHER_CHANNEL.match(text) is not None

    @classmethod
    def recorded(cls, description: Mapping[str, Any]) -> "AnswerLayout":
        """Return the layout in a model's description, or the common layout if it has none."""
        noted = dict(description.get("answer_form", {}))
        for key in ("wrappers", "thinking"):
            if key in noted:
                noted[key] = tuple((begin, end) for begin, end in noted[key])
        return cls(**noted)

    def to_json(self) -> dict[str, Any]:
        """Return the layout as the JSON object that `recorded` reads."""
        return asdict(self)


def answer_layout(template: Renderer) -> AnswerLayout:
    """Return the layout of answers that a template implies."""
    source = remove_comments(str(template.tokenizer.chat_template))
    prompt, before, behind = _around_answer(template)
    pairs = tuple(pair for pair in THINKING if pair in COMMON or pair[1] in source)
    opening = _opening(template, prompt, before, {end for _, end in pairs})
    closing = next((end for begin, end in WRAPPERS if opening.endswith(begin)), "")
    closing = closing or _closing(template, behind, bool(opening))
    ends = [end for begin, end in BEHIND_THINKING.items() if begin in source]
    around = around_reasoning(template)
    wrappers = tuple(_wrappers(template, source, before, opening, closing, ends))
    own = () if around is None else (around.pair(prompt),)
    openings = {begin for begin, _ in wrappers}
    cut = [] if own else [pair for pair in cut_out(template, prompt) if pair[1] not in openings]
    added = template.tokenizer.added_tokens_decoder.values()
    special = {token.content for token in added if token.special}
    return AnswerLayout(
        wrappers,
        tuple(dict.fromkeys([*own, *pairs, *cut])),
        dict(template.control_tokens),
        not special.isdisjoint(template.encoder.find(opening)),
        bool(opening) and not before.startswith(prompt),
        _required(template, prompt, before, opening),
        around is not None and around.stays,
        names_cut_reasoning=True,
    )


def is_named_in(source: str, template: Renderer, pair: tuple[str, str]) -> bool:
    """Return whether a pair of texts around reasoning is the template's own, not just common."""
    return pair not in COMMON or pair[1] in source or template.reasoning_key is not None


class AroundReasoning(NamedTuple):
    """What a template writes around the reasoning before an answer.

    Attributes:
        before: text from the end of the user's message to the reasoning.
        behind: text from the end of the reasoning to the answer.
        stays: whether the template still writes the reasoning after the user's next message.
    """

    before: str
    behind: str
    stays: bool

    def pair(self, prompt: str) -> tuple[str, str]:
        """Return the texts that begin and end reasoning after the prompt for an answer.

        The first is what the model writes before its reasoning, or the last line of `before` if the
        prompt has all of that. The second includes any text that begins the answer.
        """
        written = self.before[len(shared_beginning(prompt, self.before)) :].strip()
        return written or self.before.strip().rpartition("\n")[2], self.behind.strip()


QUOTED = re.compile(r"""(["'])((?:(?!\1).){3,40})\1""")
SLASH = re.compile(r"(?<=[<\[◁{(|])/")  # of a tag that closes


def cut_out(template: Renderer, prompt: str) -> list[tuple[str, str]]:
    """Return pairs of texts around reasoning that a template cuts out of an answer in history.

    Whatever history leaves out of an answer, up to a text that the template quotes, is reasoning.
    It begins with the tag that this text closes, or else with the last line of the prompt.
    """
    texts = []
    for end in dict.fromkeys(text for _, text in QUOTED.findall(template.tokenizer.chat_template)):
        answer = {"role": "assistant", "content": f"Zqthoughtqz{end}Zqanswerqz"}
        try:
            text = template.render([EXAMPLE[0], answer, NEXT_USER])
        except TemplateError:
            continue
        if "Zqanswerqz" in text and "Zqthoughtqz" not in text:
            tag = SLASH.sub("", end)
            texts.append((prompt.rstrip().rpartition("\n")[2] if tag == end else tag, end))
    return [(begin, end.strip()) for begin, end in texts if begin.strip() and end.strip()]


def around_reasoning(template: Renderer) -> AroundReasoning | None:
    """Return what a template writes around reasoning, or None without reasoning or its end."""
    if template.reasoning_key is None:
        return None
    answered: list[Message] = [EXAMPLE[0], {**EXAMPLE[1], REASONING: "Two and two."}]
    pairs: list[tuple[str, str] | None] = []
    for messages in (answered, [*answered, NEXT_USER]):
        try:
            literals = template.literals(messages)
        except TemplateError:
            pairs.append(None)
            continue
        pairs.append((literals[1], literals[2]))
    last = pairs[0] or pairs[1]
    if last is None or not last[1].strip():
        return None
    return AroundReasoning(*last, pairs[1] is not None)


def _wrappers(
    template: Renderer, source: str, before: str, opening: str, closing: str, ends: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of texts that may stand around an answer, the likeliest first."""
    if opening:
        yield opening, closing
    elif template.encoder.find(closing):
        # Tokens end the messages of a turn, and the end of sequence ends the turn: the model may
        # think in a message of its own before it begins the answer's.
        yield _end_from_last_token(template, before, len(before)).strip(), closing
    unnamed = [pair for token, pair in UNNAMED.items() if token in source]
    for begin, end in WRAPPERS:
        is_named = begin in source and end in source
        if (is_named or (begin, end) in unnamed) and begin not in opening:
            yield begin, end
    for end in [*([closing] if closing and not opening else []), *ends]:
        yield "", end


def _around_answer(template: Renderer) -> tuple[str, str, str]:
    """Return the generation prompt, and the texts around an answer in history, "" if refused."""
    try:
        prompt = template.literals(EXAMPLE[:1], add_generation_prompt=True)[-1]
        _, before, behind, _ = template.literals([*EXAMPLE, user(NEXT_USER_MESSAGES[0])])
    except TemplateError:
        return "", "", ""
    return prompt, before, behind


def _opening(template: Renderer, prompt: str, before: str, ends: set[str]) -> str:
    """Return the text that the model writes between the generation prompt and its answer."""
    if prompt.startswith(before):
        return ""
    if before.startswith(prompt):
        opening = before[len(prompt) :]
        opening = opening.strip() if template.encoder.find(opening) else opening.lstrip()
    else:
        n_shared = len(shared_beginning(before, prompt))
        opening = _end_from_last_token(template, before, n_shared).strip()
        if not NAMES_THINKING.search(prompt[n_shared:]):
            return ""  # the prompt only says the same in other words
    return "" if opening.strip() in ends else opening


def _required(template: Renderer, prompt: str, before: str, opening: str) -> str:
    """Return the plain text of an opening, or the line break that ends the line of the prompt."""
    if opening:
        return "" if template.encoder.find(opening) else opening
    return "\n" if before.startswith(f"{prompt}\n") else ""


def _end_from_last_token(template: Renderer, text: str, position: int) -> str:
    """Return the end of a text from its last control token that begins at or before a position."""
    begin = end = 0
    for token in template.encoder.find(text):
        end = text.index(token, end)
        if end > position:
            break
        begin = end
        end += len(token)
    return text[begin:] if template.encoder.find(text[begin:]) else ""


def _closing(template: Renderer, behind: str, has_opening: bool) -> str:
    """Return the text that the model writes between its answer and the end of its turn.

    If history lacks the end-of-sequence token, the first control token behind a wrapped answer
    counts. Behind an answer without a wrapper, that token ends the turn.
    """
    eos, controls = template.tokenizer.eos_token, template.encoder.find(behind)
    if eos and eos in behind:
        return str(behind.partition(eos)[0].strip())
    if not controls:
        return ""
    plain = behind.partition(controls[0])[0].strip()
    return plain or (controls[0] if has_opening else "")
