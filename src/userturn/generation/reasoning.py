"""The model's raw answer, split into its reasoning and what the user would see."""

import re
from typing import NamedTuple

FINAL_CHANNEL = re.compile(r"<\|channel\|>final\b[^<]*(?:<\|constrain\|>\w+)?<\|message\|>")
END_OF_MESSAGE = re.compile(r"<\|(?:end|return|call)\|>")
CHANNEL = "<|channel|>"
THINKING = (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<seed:think>", "</seed:think>"))


class Answer(NamedTuple):
    """What is shown as the answer, and the reasoning before it (None where there is none)."""

    text: str
    reasoning: str | None


def split_reasoning(text: str, prompt: str = "") -> Answer:
    """Split a raw answer at the end of its thinking, or at harmony's final channel.

    An answer that was cut before its reasoning ended has no text, only reasoning.

    Args:
        text: the raw answer, special tokens kept.
        prompt: the prompt before it, whose generation prompt may have begun the thinking.
    """
    for begin, end in THINKING:
        if end in text:
            reasoning, _, answer = text.rpartition(end)
            return Answer(answer.strip(), _reasoning(reasoning, begin))
        if text.lstrip().startswith(begin) or prompt.rstrip().endswith(begin):
            return Answer("", _reasoning(text, begin))
    if final := FINAL_CHANNEL.search(text):
        answer = END_OF_MESSAGE.split(text[final.end() :])[0]
        return Answer(answer.strip(), text[: final.start()].strip() or None)
    if text.lstrip().startswith(CHANNEL):
        return Answer("", text.strip())
    return Answer(text.strip(), None)


def _reasoning(text: str, begin: str) -> str | None:
    return text.strip().removeprefix(begin).strip() or None
