"""Split a model's raw answer into its reasoning and the text that the user sees."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from userturn.prompts.answer_layout import AnswerLayout

FINAL_CHANNEL = re.compile(r"<\|channel\|>final\b[^<]*(?:<\|constrain\|>\w+)?<\|message\|>")
END_OF_MESSAGE = re.compile(r"<\|(?:end|return|call)\|>")
CHANNEL = "<|channel|>"
ANY_LAYOUT = AnswerLayout()


class Answer(NamedTuple):
    """The visible text and any reasoning of an answer, which is never shown if it has an error."""

    text: str
    reasoning: str | None
    error: str | None = None


def read_answer(text: str, prompt: str, token_ids: Sequence[int], layout: AnswerLayout) -> Answer:
    """Split a raw answer as `split_reasoning` does, with an error if it is wrapped otherwise.

    Args:
        text: the raw answer, special tokens kept.
        prompt: the prompt before it.
        token_ids: the tokens that the model wrote. A control token that it quotes as text may stay.
        layout: how this model wraps an answer.
    """
    answer = split_reasoning(text, prompt, layout)
    if answer.text and not text.lstrip().startswith(layout.first_words):
        reason = (
            f"the answer does not begin with {layout.first_words!r}, as this model's chat template "
            "writes every answer; leave that item out"
        )
        return answer._replace(error=reason)
    written = set(token_ids)
    left = [
        token
        for token, token_id in (layout.control_tokens or {}).items()
        if token_id in written and token in answer.text
    ]
    if not left:
        return answer
    reason = (
        f"the answer contains {', '.join(map(repr, left))}, which this model's chat "
        "template does not write around an answer; leave that item out"
    )
    return answer._replace(error=reason)


def split_reasoning(text: str, prompt: str = "", layout: AnswerLayout = ANY_LAYOUT) -> Answer:
    """Split a raw answer at the end of its reasoning, and remove its wrapping.

    An answer that was cut off before its reasoning ended has reasoning and no text.

    Args:
        text: the raw answer, special tokens kept.
        prompt: the prompt before it, whose generation prompt may already open the reasoning.
        layout: how this model wraps an answer and its reasoning.
    """
    if final := FINAL_CHANNEL.search(text):
        answer = END_OF_MESSAGE.split(text[final.end() :])[0]
        return Answer(answer.strip(), text[: final.start()].strip() or None)
    if text.lstrip().startswith(CHANNEL):
        return Answer("", text.strip())
    for begin, end in layout.thinking:
        if end in text:
            reasoning, _, answer = text.rpartition(end)
            thought = replace(layout, reasons_first=False)
            opening = next((one for one, _ in layout.wrappers if one and end.endswith(one)), "")
            return Answer(_unwrapped(opening + answer, thought)[0], _reasoning(reasoning, begin))
        if text.lstrip().startswith(begin) or prompt.rstrip().endswith(begin):
            return Answer("", _reasoning(text, begin))
        if text.strip() and begin.startswith(text.strip()):  # cut before it was whole
            return Answer("", None)
    return Answer(*_unwrapped(text, layout))


def _unwrapped(text: str, layout: AnswerLayout) -> tuple[str, str | None]:
    """Return an answer without its wrapping, and the text before it or None."""
    ends = [end for begin, end in layout.wrappers if not begin]
    for begin, end in layout.wrappers:
        before, delimiter, answer = _split(text, begin, layout)
        if begin and delimiter:
            return _cut(answer, [end, *ends], layout), before.strip() or None
    if layout.reasons_first or layout.is_other_channel(text):
        return "", text.strip() or None
    return _cut(text, ends, layout), None


def _split(text: str, begin: str, layout: AnswerLayout) -> tuple[str, bool, str]:
    """Return the text before a wrapper's beginning, whether it is there, and the text behind."""
    if _holds_token(begin, layout):
        before, delimiter, answer = text.partition(begin)
        return before, bool(delimiter), answer
    stripped = text.lstrip()
    if stripped and begin.startswith(stripped):  # it was cut before its first words were written
        return "", True, ""
    return "", stripped.startswith(begin), stripped.removeprefix(begin)


def _cut(answer: str, ends: Sequence[str], layout: AnswerLayout) -> str:
    """Return an answer up to the ends of its wrapper, which are tokens anywhere or last words."""
    for end in ends:
        text = answer.partition(end)[0] if _holds_token(end, layout) else _cut_end(answer, end)
        answer = text.strip()
    return answer.strip()


def _cut_end(answer: str, end: str) -> str:
    """Return an answer without the end of its wrapper, even if a tag of it was cut short."""
    text, least = answer.strip(), 1 if end.startswith(("<", "[")) else len(end)
    lengths = range(len(end), least - 1, -1) if end else ()
    written = next((n for n in lengths if text.endswith(end[:n])), 0)
    return text[: len(text) - written]


def _holds_token(text: str, layout: AnswerLayout) -> bool:
    return any(token in text for token in layout.control_tokens or ())


def _reasoning(text: str, begin: str) -> str | None:
    return text.strip().removeprefix(begin).strip() or None
