"""In words: numbers, kinds of values, labels, and characters that a reader cannot see."""

import re
from collections.abc import Iterable
from typing import Any

# Controls, and formats such as zero width and right to left: Unicode categories Cc, Cf, Cs, Co,
# and letters and marks that have no shape. U+FE0F stays: emoji are written with it.
_JOINERS = "\u200c\u200d"  # between the parts of emoji and of letters of some scripts
_OTHER_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u115f\u1160\u180e"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufe00-\ufe0e\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
UNSEEN = f"[{_OTHER_UNSEEN}{_JOINERS}]"
"""A character that shows nothing or turns the direction of the text around."""
UNSEEN_BUT_JOINERS = f"[{_OTHER_UNSEEN}]"
"""The same without the joiners, for texts in which emoji stay whole."""
_SHOWN = re.compile(UNSEEN_BUT_JOINERS)
LABELS = {
    "genuine_followup": "Genuine follow-up",
    "arguable_followup": "Arguable follow-up",
    "prompt_restate": "Restated prompt",
    "assistant_turn_restate": "Assistant speech",
    "generic": "Generic",
    "unrelated": "Unrelated",
    "degenerate": "Degenerate",
}
"""The names by which pages and figures show the rubrics' labels; data files have the labels."""
KINDS = {
    "NoneType": "nothing",
    "str": "a text",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "list": "a list",
    "dict": "keys with values",
}


def number_of(n: int, noun: str) -> str:
    """Return a number with its noun: "1 model", "1,200 models"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def show_codes(text: str) -> str:
    """Return a text for a page, in which characters that show nothing are codes: ⟦U+XXXX⟧.

    Joiners, which emoji need, stay.
    """
    return _SHOWN.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text)


def show_unseen(text: str) -> str:
    r"""Return a text for a terminal, in which characters that show nothing are codes: \uXXXX.

    Joiners stay. So no text of a dataset, model or file name moves the cursor or changes colours.
    """
    return _SHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def label_name(label: str) -> str:
    """Return a label's name in `LABELS`, or "Off topic" for a label `off_topic` without one."""
    words = label.replace("_", " ")
    return LABELS.get(label, words[:1].upper() + words[1:])


def name_labels(text: str, labels: Iterable[str]) -> str:
    """Return a text in which each label is replaced by its name, with a small first letter."""
    for label in labels:
        name = label_name(label)
        text = re.sub(rf"\b{re.escape(label)}\b", name[:1].lower() + name[1:], text)
    return text


def one_line_each(text: str) -> str:
    """Return a text with each of its paragraphs, and each item of a list, in one line.

    Blank lines between paragraphs stay.
    """
    return re.sub(r"(?<!\n)\n(?![-\n])", " ", text)


def kind_of(value: Any) -> str:
    """Return the kind of a value in words, such as "a list", or by Python's name if unknown."""
    name = type(value).__name__
    return KINDS.get(name, f"a {name}")
