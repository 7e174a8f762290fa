"""Rewards of drawn turns: accuracy, interactivity, length, and the judge's verdict on the probe.

A reward that could not be had is None, which the trainer leaves out, and never 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from userturn.config.recipes import Recipe
from userturn.grading.grade import Case
from userturn.grading.verifiers import VERIFIERS
from userturn.judges.heuristic import judge_by_words
from userturn.judges.parse_reply import Reply, UnclearReplyError, read_object, read_verdict
from userturn.judges.prompt import ask_about_turn, load_prompt
from userturn.prompts.chat_template import Message
from userturn.training.simulated_user import Endpoints, Rollout

Scores = list[float | None]
KILO = 1000


@dataclass(frozen=True)
class Drawn:
    """A drawn turn.

    Attributes:
        messages: of the conversation before it.
        said: the turn.
        reference_answer: of the problem, where there is one.
        goal: what a simulated user wants, where it is known.
    """

    messages: tuple[Message, ...]
    said: str
    reference_answer: str | None = None
    goal: str | None = None


@dataclass(frozen=True)
class Reward:
    """A reward by its name; `score` gives one value a drawn turn, in their order."""

    name: str
    weight: float
    score: Callable[[Sequence[Drawn]], Scores]


def accuracy(verifier: str, conversations: Sequence[Rollout], references: Sequence[Any]) -> Scores:
    """Return 1 where the last answer is right, 0 where it is wrong, None where that stays open."""
    cases = [
        Case(answer=conversation.last_answer, reference=reference)
        for conversation, reference in zip(conversations, references, strict=True)
    ]
    known = [case for case in cases if case.reference is not None]
    grades = iter(VERIFIERS[verifier](known, 1) if known else [])
    correct = [None if case.reference is None else next(grades).correct for case in cases]
    return [None if value is None else float(value) for value in correct]


def length(conversations: Sequence[Rollout], count: Callable[[str], int]) -> Scores:
    """Return the thousands of tokens that the assistant writes, from the drawn turn on."""
    return [sum(map(count, conversation.answers)) / KILO for conversation in conversations]


def followup(drawn: Sequence[Drawn], settings: Mapping[str, Any], ask: Endpoints) -> Scores:
    """Return 1 where the judge calls the user turn genuine, else 0, None where it is unscored."""
    contexts = [(turn.messages[:-1], turn.messages[-1]["content"], turn.said) for turn in drawn]
    if settings["kind"] != "endpoint":
        verdicts = [judge_by_words(*context, settings).genuine for context in contexts]
        return [None if genuine is None else float(genuine) for genuine in verdicts]
    prompt = load_prompt(settings)
    asked = [list(ask_about_turn(prompt, *context).messages) for context in contexts]

    def genuine(reply: Reply) -> float:
        return float(read_verdict(reply, prompt.labels)["label"] == "genuine_followup")

    return [_read(reply, genuine) for reply in ask("followup", asked)]


def interactivity(conversations: Sequence[Rollout], ask: Endpoints, prompt: str) -> Scores:
    """Return a judge's score between 0 and 1 of how well the assistant involves the user."""
    asked = [[{"role": "user", "content": prompt + c.text}] for c in conversations]
    return [_read(reply, _read_score) for reply in ask("interactivity", asked)]


def _read_score(reply: Reply) -> float:
    score = read_object(reply).get("interactivity")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise UnclearReplyError("interactivity is no number between 0 and 1")
    return float(score)


def _read(reply: Reply, read: Callable[[Reply], float]) -> float | None:
    try:
        return read(reply)
    except UnclearReplyError:
        return None


def rewards_of(
    recipe: Recipe,
    judges: Mapping[str, Mapping[str, Any]],
    ask: Endpoints,
    continued: Callable[[Sequence[Drawn]], list[Rollout]],
    count: Callable[[str], int],
    interactivity_prompt: str,
) -> list[Reward]:
    """Return the rewards that a recipe names.

    Args:
        recipe: of the method grpo.
        judges: complete entries by name.
        ask: asks the recipe's endpoints.
        continued: plays conversations on from a drawn turn; equal turns are played but once.
        count: of the tokens of a text.
        interactivity_prompt: what stands before a conversation.
    """
    wanted = recipe["grpo"]["rewards"]

    def score(name: str) -> Callable[[Sequence[Drawn]], Scores]:
        settings = wanted[name]
        return {
            "accuracy": lambda drawn: accuracy(
                settings["verifier"], continued(drawn), [turn.reference_answer for turn in drawn]
            ),
            "interactivity": lambda drawn: interactivity(
                continued(drawn), ask, interactivity_prompt
            ),
            "length": lambda drawn: length(continued(drawn), count),
            "followup": lambda drawn: followup(drawn, judges[settings["judge"]], ask),
        }[name]

    return [Reward(name, settings["weight"], score(name)) for name, settings in wanted.items()]
