"""Rewards of drawn turns: accuracy, interactivity, length, and the judge's verdict on the probe.

An unavailable reward is None, which the trainer leaves out, and never 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from userturn.config.recipes import Recipe
from userturn.datasets.messages import Message
from userturn.errors import UserError
from userturn.grading.grade import Case
from userturn.grading.verifiers import verifier_named
from userturn.judges.judge import Judge
from userturn.judges.kinds import kind_of
from userturn.judges.parse_reply import Reply, UnclearReplyError, read_object
from userturn.judges.verdict import ERROR, UserTurn
from userturn.training.simulated_user import Endpoints, Rollout

Scores = list[float | None]
KILO = 1000


@dataclass(frozen=True)
class SampledTurn:
    """A drawn turn.

    Attributes:
        messages: the conversation before it.
        said: the turn.
        reference_answer: reference answer of the problem, or None.
        goal: what a simulated user wants, or None.
    """

    messages: tuple[Message, ...]
    said: str
    reference_answer: str | None = None
    goal: str | None = None


@dataclass(frozen=True)
class Reward:
    """A reward with its name; `score` returns one value per drawn turn, in order."""

    name: str
    weight: float
    score: Callable[[Sequence[SampledTurn]], Scores]


def accuracy(verifier: str, conversations: Sequence[Rollout], references: Sequence[Any]) -> Scores:
    """Return 1 if the last answer is correct, 0 if it is wrong, None if undecided."""
    cases = [
        Case(answer=conversation.last_answer, reference=reference)
        for conversation, reference in zip(conversations, references, strict=True)
    ]
    known = [case for case in cases if case.reference is not None]
    grades = iter(verifier_named(verifier)(known, 1) if known else [])
    correct = [None if case.reference is None else next(grades).correct for case in cases]
    return [None if value is None else float(value) for value in correct]


def length(conversations: Sequence[Rollout], count: Callable[[str], int]) -> Scores:
    """Return the thousands of tokens that the assistant writes, from the drawn turn on."""
    return [sum(map(count, conversation.answers)) / KILO for conversation in conversations]


def followup(drawn: Sequence[SampledTurn], judge: Judge, paid_by: str) -> Scores:
    """Return 1 if the judge calls the user turn genuine, else 0, None if it is unscored.

    Raises:
        UserError: a question ended in an error; training without that reward would learn
            something else.
    """
    turns = [
        UserTurn(turn.messages[:-1], turn.messages[-1]["content"], turn.said) for turn in drawn
    ]
    verdicts = kind_of(judge.settings).judge_turns(judge, turns, paid_by)
    reasons = [verdict.unscored_reason or "" for verdict in verdicts]
    failed = next((reason for reason in reasons if reason.startswith(ERROR)), None)
    if failed is not None:
        raise UserError(
            f"the judge '{judge.name}', asked for followup, gave no reply "
            f"({failed.removeprefix(ERROR)})"
        )
    return [None if v.genuine is None else float(v.genuine) for v in verdicts]


def interactivity(conversations: Sequence[Rollout], ask: Endpoints, prompt: str) -> Scores:
    """Return a judge's score between 0 and 1 of how well the assistant involves the user."""
    asked = [[{"role": "user", "content": prompt + c.text}] for c in conversations]
    return [_read(reply, _read_score) for reply in ask("interactivity", asked)]


def _read_score(reply: Reply) -> float:
    score = read_object(reply).get("interactivity")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise UnclearReplyError("interactivity is not a number between 0 and 1")
    return float(score)


def _read(reply: Reply, read: Callable[[Reply], float]) -> float | None:
    try:
        return read(reply)
    except UnclearReplyError:
        return None


def rewards_of(
    recipe: Recipe,
    judges: Mapping[str, Judge],
    paid_by: str,
    ask: Endpoints,
    continued: Callable[[Sequence[SampledTurn]], list[Rollout]],
    count: Callable[[str], int],
    interactivity_prompt: str,
) -> list[Reward]:
    """Return the rewards that a recipe names.

    Args:
        recipe: a recipe of the method grpo.
        judges: judges by name.
        paid_by: name under which the account of the follow-up judge counts the requests.
        ask: asks the recipe's endpoints.
        continued: continues conversations after a drawn turn; equal turns only once.
        count: counts the tokens of a text.
        interactivity_prompt: the text before a conversation.
    """
    wanted = recipe["grpo"]["rewards"]

    def score(name: str) -> Callable[[Sequence[SampledTurn]], Scores]:
        settings = wanted[name]
        return {
            "accuracy": lambda drawn: accuracy(
                settings["verifier"], continued(drawn), [turn.reference_answer for turn in drawn]
            ),
            "interactivity": lambda drawn: interactivity(
                continued(drawn), ask, interactivity_prompt
            ),
            "length": lambda drawn: length(continued(drawn), count),
            "followup": lambda drawn: followup(drawn, judges[settings["judge"]], paid_by),
        }[name]

    return [Reward(name, settings["weight"], score(name)) for name, settings in wanted.items()]
