"""The model's raw answer, split into its reasoning and what the user would see."""

import re
from typing import NamedTuple

FINAL_CHANNEL = re.compile(r"<\|channel\|>final(?:<\|constrain\|>\w+)?<\|message\|>")
CHANNEL_MESSAGE = re.compile(r"<\|channel\|>\w+[^<]*<\|message\|>")
END_OF_THINKING = "</think>"


class Answer(NamedTuple):
    """What is shown as the answer, and the reasoning before it (None where there is none)."""

    text: str
    reasoning: str | None


def split_reasoning(text: str) -> Answer:
    """Split a raw answer at the last `</think>` or at harmony's final channel.

    An answer that was cut before its reasoning ended has no text, only reasoning.
    """
    if END_OF_THINKING in text:
        reasoning, _, answer = text.rpartition(END_OF_THINKING)
        return Answer(answer.strip(), reasoning.removeprefix("<think>").strip())
    if text.lstrip().startswith("<think>"):
        return Answer("", text.lstrip().removeprefix("<think>").strip())
    if final := FINAL_CHANNEL.search(text):
        return Answer(text[final.end() :].strip(), text[: final.start()].strip() or None)
    if CHANNEL_MESSAGE.match(text):
        return Answer("", text)
    return Answer(text.strip(), None)
