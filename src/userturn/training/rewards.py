"""Rewards of drawn turns: accuracy, interactivity, length, and the judge's verdict on the probe.

An unavailable reward is None, and never 0: a draw that lacks one is left out (`complete`).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from userturn.datasets.messages import Message
from userturn.grading.grade import Case, verifier_named
from userturn.judges.judge import Judge
from userturn.judges.kinds import kind_of
from userturn.judges.parse_reply import Reply, UnclearReplyError, read_object
from userturn.judges.verdict import ERROR, UserTurn
from userturn.training.reward_endpoints import Keep, KeptReplies
from userturn.training.simulated_user import Endpoints, Rollout

Scores = list[float | None]
Score = Callable[[Sequence["SampledTurn"], Sequence[Rollout]], Scores]
"""Returns one value per drawn turn, in order, from the turns and their conversations."""
KILO = 1000
GIVES_ANSWER = re.compile(r"\\boxed|####|\banswer\W{0,3}(?::|is\b)|\bA:", re.IGNORECASE)


@dataclass(frozen=True)
class SampledTurn:
    """A drawn turn."""

    messages: tuple[Message, ...]  # before it
    text: str
    reference_answer: str | None = None  # of the problem
    goal: str | None = None  # what a simulated user wants


def final_answer(answers: Sequence[str]) -> str:
    """Return the last message that announces its answer, else the last message of all.

    So a message that only explains the answer, after a "Why?", does not replace it.
    """
    return next((text for text in reversed(answers) if GIVES_ANSWER.search(text)), answers[-1])


def accuracy(verifier: str, conversations: Sequence[Rollout], references: Sequence[Any]) -> Scores:
    """Return 1 for a correct final answer, 0 for a wrong one, None if it cannot be decided."""
    cases = [
        Case(answer=final_answer(conversation.answers), reference=reference)
        for conversation, reference in zip(conversations, references, strict=True)
    ]
    cases_with_reference = [case for case in cases if case.reference is not None]
    grades = iter(verifier_named(verifier)(cases_with_reference, 1) if cases_with_reference else [])
    correct = [None if case.reference is None else next(grades).correct for case in cases]
    return [None if value is None else float(value) for value in correct]


def length(conversations: Sequence[Rollout], count: Callable[[str], int]) -> Scores:
    """Return the thousands of tokens that the assistant writes, from the drawn turn on."""
    return [sum(map(count, conversation.answers)) / KILO for conversation in conversations]


def followup(
    sampled: Sequence[SampledTurn], judge: Judge, paid_by: str, paid_replies: KeptReplies
) -> Scores:
    """Return 1 if the judge calls the user turn genuine, else 0, None if it is unscored.

    Raises:
        UserError: too many questions ended in an error, and a training without that reward would
            learn something else.
    """
    turns = [
        UserTurn(turn.messages[:-1], turn.messages[-1]["content"], turn.text) for turn in sampled
    ]
    n_at_once = int(judge.settings.get("concurrency", len(turns)))

    def ask(missing: Sequence[int], keep: Keep) -> list[str]:
        errors = []
        for some in batched(missing, n_at_once):
            turns_to_judge = [turns[position] for position in some]
            verdicts = kind_of(judge.settings).judge_turns(judge, turns_to_judge, paid_by)
            for position, verdict in zip(some, verdicts, strict=True):
                reason = verdict.unscored_reason or ""
                if reason.startswith(ERROR):
                    errors.append(
                        f"the judge '{judge.name}', asked for followup, gave no reply "
                        f"({reason.removeprefix(ERROR)})"
                    )
                else:
                    keep(position, None if verdict.genuine is None else float(verdict.genuine))
        return errors

    judged_texts = [[turn.messages, turn.text] for turn in sampled]
    scores: Scores = paid_replies.replies("followup", judged_texts, ask, judge.max_error_share)
    return scores


def batched(places: Sequence[int], n: int) -> Iterator[Sequence[int]]:
    """Yield `n` positions at a time, which are all that is lost when a training is killed."""
    for begin in range(0, len(places), max(1, n)):
        yield places[begin : begin + max(1, n)]


def complete(scores: Mapping[str, Scores], weights: Mapping[str, float]) -> dict[str, Scores]:
    """Return rewards by name, where each draw has all its rewards or none.

    If a draw lacked one reward, the sum of the others would make it seem worse or better.
    """
    columns = [scores[name] for name, weight in weights.items() if weight]
    lacks = [None in row for row in zip(*columns, strict=True)]
    return {
        name: [None if lack else score for lack, score in zip(lacks, column, strict=True)]
        for name, column in scores.items()
    }


def interactivity(conversations: Sequence[Rollout], ask: Endpoints, prompt: str) -> Scores:
    """Return a judge's score between 0 and 1 of how well the assistant involves the user."""
    requests = [[{"role": "user", "content": prompt + c.text}] for c in conversations]
    return [_read_score(reply) for reply in ask("interactivity", requests)]


def _read_score(reply: Reply) -> float | None:
    try:
        score = read_object(reply).get("interactivity")
    except UnclearReplyError:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return None
    return float(score)
