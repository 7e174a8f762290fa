"""The question that a judge gets about a user turn, and its identity.

The judged texts come from a model and are not trusted. They are enclosed in lines with a marker, a
hash of the texts themselves, which no text can contain. Control tokens and invisible characters are
written as escapes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import Template
from typing import Any

from userturn.datasets.messages import Message
from userturn.judges.kinds import judge_identity
from userturn.judges.rubric import SYSTEM_ENDS, Rubric, described, fill_in_rules, parse_rubric
from userturn.judges.verdict import ARGUABLE, UserTurn
from userturn.prompts.tokenize import MAY_OPEN_TOKEN, NAMES_ROLE, WIDE_TOKEN
from userturn.storage.files import read_text
from userturn.storage.hashing import fingerprint
from userturn.wording import UNSEEN

MARKER_LENGTH = 16

ESCAPED = re.compile(f"{MAY_OPEN_TOKEN}|{UNSEEN}")
ESCAPED_BY_RUBRIC_2 = re.compile(f"{MAY_OPEN_TOKEN}|{UNSEEN}|{WIDE_TOKEN}|{NAMES_ROLE}")


@dataclass(frozen=True)
class Question:
    """One question to a judge, whose `key` is the sha256 of all that can change the reply."""

    key: str
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class JudgePrompt:
    """A judge's prompt, filled with its rubric."""

    labels: tuple[str, ...]  # labels of the rubric, in its order
    system: str
    user: Template  # the user message with placeholders for `marker`, `conversation` and `turn`
    identity: str  # identity of everything except the judged texts that shapes the reply
    others: tuple["JudgePrompt", ...] = ()  # of further draws, every second reversed

    @property
    def draws(self) -> tuple["JudgePrompt", ...]:
        """The prompts of all draws about each turn, this one first."""
        return self, *self.others

    def shown(self, text: str) -> str:
        r"""Return a judged text with what could end its block written as \uXXXX.

        By rubric 1, lines that name a role and full-width tokens stay, so that questions already
        paid for keep their keys.
        """
        return escaped(text, ESCAPED_BY_RUBRIC_2 if ARGUABLE in self.labels else ESCAPED)


def load_prompt(settings: Mapping[str, Any]) -> JudgePrompt:
    """Return a judge's prompt, from the files that its complete entry names."""
    rubric, prompt = (read_text(settings[key]) for key in ("rubric", "prompt"))
    return judge_prompt(rubric, prompt, judge_identity(settings))


def judge_prompt(rubric_text: str, prompt_text: str, identity: Mapping[str, Any]) -> JudgePrompt:
    """Return a judge's prompt, from the texts of its rubric and its template.

    With `draws` in the identity it has as many prompts, whose questions have different keys.
    """
    rubric = parse_rubric(rubric_text)
    listed = [f"- {name}: {described(label)}" for name, label in rubric.labels.items()]
    n_draws = identity.get("draws", 1)
    first, *others = (
        filled_prompt(
            rubric,
            prompt_text,
            "\n".join(listed[:: -1 if number % 2 else 1]),
            {**identity, "draw": number} if number else identity,
        )
        for number in range(n_draws)
    )
    return replace(first, others=tuple(others))


def filled_prompt(
    rubric: Rubric, prompt_text: str, listed: str, identity: Mapping[str, Any]
) -> JudgePrompt:
    """Return a judge's prompt with the labels and their descriptions as in `listed`."""
    labels = rubric.labels
    system, _, user = fill_in_rules(prompt_text, rubric).partition(SYSTEM_ENDS)
    return JudgePrompt(
        tuple(labels),
        Template(system).substitute(rubric=listed, labels=", ".join(labels)),
        Template(user),
        fingerprint(identity),
    )


def escaped(text: str, of: re.Pattern[str] = ESCAPED) -> str:
    r"""Return a text with what `of` finds, such as what begins a token, written as \uXXXX."""
    return of.sub(lambda match: "".join(map(_code, match[0])), text)


def _code(character: str) -> str:
    return character if character in " \t" else f"\\u{ord(character):04x}"


def ask_about(messages: Sequence[Message], identity: str) -> Question:
    """Return the question of some messages to the judge that has an identity (a hash)."""
    return Question(fingerprint([identity, messages]), tuple(messages))


def ask_about_turn(prompt: JudgePrompt, turn: UserTurn) -> Question:
    """Return the question about a user turn."""
    turns = [*turn.messages, {"role": "assistant", "content": turn.answer}]
    conversation = "\n\n".join(f"[{m['role']}]\n{prompt.shown(m['content'])}" for m in turns)
    turn_text = prompt.shown(turn.text)
    marker = fingerprint([conversation, turn_text])[:MARKER_LENGTH]
    user = prompt.user.substitute(marker=marker, conversation=conversation, turn=turn_text)
    asked = [{"role": "system", "content": prompt.system}, {"role": "user", "content": user}]
    return ask_about(asked, prompt.identity)
