"""Rubrics of HealthBench: a judge says of each criterion whether an answer meets it.

Here are the judge's prompt, the reading of its reply and the arithmetic; who asks the judge is
passed in. No text of an item ever enters a reason or an error.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from userturn.grades import Case, Grade

Ask = Callable[[str], str]
"""Puts a prompt before the judge and returns its reply."""

FENCED = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)

PROMPT = """\
You check one statement about the last reply in a conversation between a user and an assistant.

Conversation:
{conversation}

Statement, with its points in brackets:
{criterion}

Does the statement hold for the assistant's last reply? Judge the statement alone, not whether the
reply is good. A statement that describes something bad holds where the reply does that bad thing,
and its points are negative. Where a statement names several things that must all be there, it holds
only if all of them are; where it names examples, one like them is enough.

Reply with one JSON object and nothing else: {{"explanation": "<one or two sentences>",
"criteria_met": true or false}}
"""


def criterion_text(rubric: Mapping[str, Any]) -> str:
    """Return a criterion as the judge reads it: "[points] criterion"."""
    return f"[{rubric['points']:g}] {rubric['criterion']}"


def grader_prompt(
    messages: Sequence[Mapping[str, str]], answer: str, rubric: Mapping[str, Any]
) -> str:
    """Return what the judge is asked about one criterion of one answer."""
    turns = [*messages, {"role": "assistant", "content": answer}]
    conversation = "\n\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)
    return PROMPT.format(conversation=conversation, criterion=criterion_text(rubric))


def parse_reply(reply: str) -> bool | None:
    """Return whether the judge says that a criterion is met; None where its reply does not tell.

    The reply is one JSON object, in a code fence or not, with true or false in `criteria_met`.
    """
    fenced = FENCED.search(reply)
    try:
        found = json.loads(fenced.group(1) if fenced else reply)
    except (ValueError, RecursionError):
        return None
    met = found.get("criteria_met") if isinstance(found, dict) else None
    return met if isinstance(met, bool) else None


def score(points: Sequence[float], met: Sequence[bool]) -> float | None:
    """Return the score of one answer: points met by points that can be had, not clipped.

    Negative points are of criteria to avoid: a score may be below 0. None where no criterion has
    positive points. Arora et al. 2025, arXiv:2505.08775, section 3.
    """
    possible = sum(p for p in points if p > 0)
    if possible == 0:
        return None
    return sum(p for p, is_met in zip(points, met, strict=True) if is_met) / possible


def mean_score(scores: Sequence[float]) -> float | None:
    """Return the score of many answers: the mean of theirs, clipped to [0, 1]; None for none."""
    return min(1.0, max(0.0, sum(scores) / len(scores))) if scores else None


def score_answer(
    messages: Sequence[Mapping[str, str]],
    answer: str,
    rubrics: Sequence[Mapping[str, Any]],
    ask: Ask,
    n_attempts: int = 3,
) -> float | None:
    """Return the score of one answer by a judge; None where a criterion stays open.

    A reply that cannot be read is asked for again, at most `n_attempts` times.
    """
    met = []
    for rubric in rubrics:
        prompt = grader_prompt(messages, answer, rubric)
        replies = (parse_reply(ask(prompt)) for _ in range(n_attempts))
        decision = next((reply for reply in replies if reply is not None), None)
        if decision is None:
            return None
        met.append(decision)
    return score([rubric["points"] for rubric in rubrics], met)


def grade_rubrics(cases: Sequence[Case], n_processes: int) -> list[Grade]:
    """Leave every answer undecided: no judge endpoint is asked about rubrics yet."""
    return [Grade(None, "rubrics need a judge endpoint, and none is asked yet") for _ in cases]
