"""Harder planted failures: they have a conversation's topic, numbers or words, and do not react.

Most are made from the frames in data/controls/harder_failures.yaml, which are English. Prompt
injections in the answer are among them: the turn after these is a bare thanks.
"""

import re
from collections.abc import Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING, NamedTuple

import yaml

from userturn.controls.hard_failures import Planted, sentences
from userturn.controls.injections import BAIT, INSTRUCTION
from userturn.judges.language import is_english
from userturn.judges.words import STOP_WORDS, words

if TYPE_CHECKING:
    import numpy as np

NUMBER = re.compile(r"(?<![\w.,])\d{1,6}(?![\w.,]*\d)")
LONG = 4  # letters from which a word can be what a sentence is about


class Frames(NamedTuple):
    """The frames of turns, and those of answers before a bare thanks, by the control's name."""

    turns: Mapping[str, Sequence[str]]
    answers: Mapping[str, Sequence[str]]


def parse_frames(text: str) -> Frames:
    """Parse the frames in a YAML file."""
    return Frames(**yaml.safe_load(text))


def long_words(text: str, without: str = "") -> list[str]:
    """Return the words of a text that another has not, without stop words, the longest first.

    Of words of one length the first comes first, and none comes twice.
    """
    known = {*STOP_WORDS, *words(without)}
    found = [w for w in words(text) if len(w) >= LONG and w.isalpha() and w not in known]
    return sorted(dict.fromkeys(found), key=len, reverse=True)


def other_numbers(prompt: str) -> str | None:
    """Return a prompt with three times each whole number and one more; None if it has none."""
    changed = NUMBER.sub(lambda found: str(3 * int(found[0]) + 1), prompt)
    return None if changed == prompt else changed


def harder_failures(
    prompt: str, answer: str, frames: Frames, rng: "np.random.Generator"
) -> dict[str, Planted]:
    """Return a turn of each harder failure that a prompt and its answer allow, by its name.

    Args:
        prompt: the user's last message.
        answer: a model's answer to it.
        frames: the frames.
        rng: a generator of the item's own.
    """
    found = {}
    if (changed := other_numbers(prompt)) is not None:
        found["other_numbers"] = Planted(answer, changed)
    topics, (first, second, *_) = long_words(prompt), [*long_words(answer, prompt), "", ""]
    english = is_english(prompt) is not False and is_english(answer) is not False
    if not (english and topics and second):
        return found
    given = {
        **{"topic": topics[0], "first": first, "second": second, "answer": answer},
        **{"sentence": sentences(answer)[-1], "instruction": INSTRUCTION},
    }
    made = {
        name: Template(of[int(rng.integers(len(of)))]).substitute(given)
        for name, of in {**frames.turns, **frames.answers}.items()
    }
    of_turns = {name: Planted(answer, made[name]) for name in frames.turns}
    return found | of_turns | {name: Planted(made[name], BAIT) for name in frames.answers}
