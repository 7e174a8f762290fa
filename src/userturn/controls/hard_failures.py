"""Hard planted failures: turns that take up an answer's words, yet are not a user's follow-up.

They are made from the study's own prompts and answers and the texts in
data/controls/hard_failures.yaml. All are known to be not genuine, and all but noise have one known
label of the rubric.
"""

import re
from collections.abc import Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING, NamedTuple

import yaml

from userturn.judges.language import is_english

if TYPE_CHECKING:
    import numpy as np  # a tenth of a second, and Snakemake only reads which failures there are

NOISE_STEPS = {"noise_25": 0.25, "noise_50": 0.5, "noise_75": 0.75}  # share of replaced words
N_WORDS = 40  # words after which no further sentence of a prompt or answer is taken
BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Planted(NamedTuple):
    """A planted turn and the answer that it follows."""

    answer: str
    text: str


class Texts(NamedTuple):
    """The frames and words from which failures are made."""

    thinking: Sequence[str]
    draft_reply: Sequence[str]
    paraphrased_prompt: Sequence[str]
    rewordings: Mapping[str, str]
    noise: Sequence[str]


def parse_texts(text: str) -> Texts:
    """Parse the texts in a YAML file."""
    return Texts(**yaml.safe_load(text))


def sentences(text: str) -> list[str]:
    """Return a text's sentences and lines, except those without a word."""
    return [part.strip() for part in BETWEEN_SENTENCES.split(text) if WORD.search(part)]


def opening(text: str) -> str:
    """Return a text's first sentences, until there are at least `N_WORDS` words."""
    taken: list[str] = []
    for sentence in sentences(text):
        if len(" ".join(taken).split()) >= N_WORDS:
            break
        taken.append(sentence)
    return " ".join(" ".join(taken).split()[: 2 * N_WORDS])


def halves(text: str) -> tuple[str, str] | None:
    """Return the two halves of a text, cut between sentences; None for a single sentence."""
    cuts = [
        found
        for found in BETWEEN_SENTENCES.finditer(text)
        if WORD.search(text[: found.start()]) and WORD.search(text[found.end() :])
    ]
    if not cuts:
        return None
    cut = min(cuts, key=lambda found: abs(found.start() - len(text) / 2))
    return text[: cut.start()], text[cut.end() :].strip()


def as_question(answer: str) -> str:
    """Return an answer's first two sentences as one question."""
    first, *rest = [part.rstrip(".!?: ") for part in sentences(answer)[:2]]
    both = [_lowered(part) for part in (first, *rest)]
    return f"So {', and '.join(both)}?"


def _lowered(sentence: str) -> str:
    """Return a sentence with a lower-case first letter, unless it begins with "I" or an acronym."""
    if sentence[1:2].isupper() or sentence[:2] in ("I ", "I'"):
        return sentence
    return sentence[:1].lower() + sentence[1:]


def reworded(prompt: str, rewordings: Mapping[str, str]) -> str:
    """Return a prompt with some of its words replaced, the longest phrases first.

    Args:
        prompt: any text.
        rewordings: replacement by lower-case word or phrase; an initial capital is kept.
    """
    phrases = sorted(rewordings, key=len, reverse=True)
    found = re.compile(rf"\b(?:{'|'.join(map(re.escape, phrases))})\b", re.IGNORECASE)
    return found.sub(lambda match: _like(match[0], rewordings[match[0].lower()]), prompt)


def _like(old: str, new: str) -> str:
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def noisy(text: str, noise: Sequence[str], rng: "np.random.Generator") -> dict[str, str]:
    """Return a text with more and more of its words replaced, by the name of the step.

    Later steps keep the replacements of earlier ones.
    """
    words = list(WORD.finditer(text))
    order = [words[place] for place in rng.permutation(len(words))]
    drawn = [str(word) for word in rng.choice(noise, len(words))]
    found = {}
    for step, share in NOISE_STEPS.items():
        n_replaced = round(share * len(words))
        starts = [old.start() for old in order[:n_replaced]]
        found[step] = _replaced(text, dict(zip(starts, drawn[:n_replaced], strict=True)))
    return found


def _replaced(text: str, new: Mapping[int, str]) -> str:
    """Return a text with the words at some positions replaced."""
    return WORD.sub(lambda old: new.get(old.start(), old[0]), text)


def hard_failures(
    prompt: str,
    answer: str,
    other_answer: str | None,
    texts: Texts | None,
    rng: "np.random.Generator",
) -> dict[str, Planted]:
    """Return a turn of each hard failure that an answer allows, by the control's name.

    Args:
        prompt: the user's last message.
        answer: a model's answer to it.
        other_answer: another model's answer, or None.
        texts: English texts, so that only English conversations get the failures made from them;
            None leaves these failures out.
        rng: the item's generator.
    """
    if not sentences(answer):
        return {}
    found = {"answer_as_question": as_question(answer)}
    if other_answer and other_answer != answer:
        found["other_model"] = other_answer
    if texts and is_english(prompt) is not False and is_english(answer) is not False:
        found |= _in_english(prompt, answer, texts, rng)
    turns = {name: Planted(answer, text) for name, text in found.items()}
    both = halves(answer)
    return turns if both is None else turns | {"continuation": Planted(*both)}


def _in_english(
    prompt: str, answer: str, texts: Texts, rng: "np.random.Generator"
) -> dict[str, str]:
    """Return the failures that are made from the English texts."""
    said = opening(answer)
    words = {"prompt": opening(prompt), "answer": said}
    reworded_prompt = reworded(prompt, texts.rewordings)
    return {
        "thinking": _framed(texts.thinking, words, rng),
        "draft_reply": _framed(texts.draft_reply, words, rng),
        "paraphrased_prompt": _framed(texts.paraphrased_prompt, {"prompt": reworded_prompt}, rng),
        **noisy(said, texts.noise, rng),
    }


def _framed(frames: Sequence[str], words: Mapping[str, str], rng: "np.random.Generator") -> str:
    return Template(frames[int(rng.integers(len(frames)))]).substitute(words)
