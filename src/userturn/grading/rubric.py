"""The verifier `rubric`: a judge decides whether an answer meets each criterion (HealthBench).

No text of an item ever appears in a reason or an error.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from userturn.grading.grade import STAYED_OPEN, Grade
from userturn.judges.decisions import Decisions, open_decisions
from userturn.judges.endpoint_verdicts import ask_judge, check_error_share, open_endpoint
from userturn.judges.judge import Judge
from userturn.judges.kinds import judge_identity
from userturn.judges.parse_reply import Reply, UnclearReplyError, read_object
from userturn.judges.question import Question, ask_about, escaped
from userturn.judges.session import Session
from userturn.judges.verdict import ERROR
from userturn.storage.hashing import fingerprint

NO_RUBRICS = "the item has no rubrics of points and criterion"

# What a judge is asked to reply with.
SCHEMA = {
    "type": "object",
    "properties": {"explanation": {"type": "string"}, "criteria_met": {"type": "boolean"}},
    "required": ["explanation", "criteria_met"],
    "additionalProperties": False,
}

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


def grader_prompt(
    messages: Sequence[Mapping[str, str]], answer: str, rubric: Mapping[str, Any]
) -> str:
    """Return the question to the judge about one criterion of one answer."""
    turns = [*messages, {"role": "assistant", "content": answer}]
    conversation = "\n\n".join(f"{turn['role']}: {escaped(turn['content'])}" for turn in turns)
    criterion = f"[{rubric['points']:g}] {rubric['criterion']}"
    return PROMPT.format(conversation=conversation, criterion=criterion)


def read_criterion(reply: Reply) -> dict[str, Any]:
    """Return `met` and `explanation`, or raise UnclearReplyError without a plain true or false."""
    criterion = read_object(reply)
    if not isinstance(criterion.get("criteria_met"), bool):
        raise UnclearReplyError("criteria_met is neither true nor false")
    return {"met": criterion["criteria_met"], "explanation": str(criterion.get("explanation", ""))}


def score(points: Sequence[float], met: Sequence[bool]) -> float | None:
    """Return the score of one answer: points met divided by the largest possible sum, not clipped.

    Negative points are for criteria to avoid, so a score may be below 0. It is None if no criterion
    has positive points. Arora et al. 2025, arXiv:2505.08775, section 3.
    """
    possible = sum(p for p in points if p > 0)
    if possible == 0:
        return None
    return sum(p for p, is_met in zip(points, met, strict=True) if is_met) / possible


def _questions(row: Mapping[str, Any], identity: str) -> list[Question]:
    """Return a question per criterion, or none if there is no answer or the rubrics do not fit."""
    if row["outcome"] == "error":
        return []
    messages, answer = row["messages"], row["answer"] or ""
    try:
        rubrics = json.loads(row["verifier_arguments"])["rubrics"]
        prompts = [grader_prompt(messages, answer, rubric) for rubric in rubrics]
    except (TypeError, ValueError, LookupError, AttributeError):
        return []
    return [ask_about([{"role": "user", "content": prompt}], identity) for prompt in prompts]


def _grade(row: Mapping[str, Any], keys: Sequence[str], decisions: Decisions) -> Grade:
    decided = [decisions.get(key) for key in keys]
    remarks = [
        decision.content for decision in decided if decision is not None and decision.content
    ]
    if len(remarks) < len(keys):
        failed = any(decision is None or decision.outcome == "error" for decision in decided)
        missing = f"{len(keys) - len(remarks)} of {len(keys)} {STAYED_OPEN}"
        return Grade(None, f"{ERROR}{missing}" if failed else missing)
    points = [rubric["points"] for rubric in json.loads(row["verifier_arguments"])["rubrics"]]
    total = score(points, [decision["met"] for decision in remarks])
    if total is None:
        return Grade(None, "no criterion has points that can be had")
    return Grade(None, "scored, neither right nor wrong", score=total)


def grade_by_rubric(
    judge: Judge, rows: Sequence[Mapping[str, Any]], what: str, dataset: str, n_at_once: int
) -> list[Grade]:
    """Return the grade of each answer by its item's rubrics, asking the missing questions.

    Rows are answers with messages and verifier_arguments of their items. `what` is their name in
    the judge's account.

    Raises:
        UserError: the endpoint is broken, the hard cap is reached, or too many answers failed.
    """
    identity = fingerprint([judge_identity(judge.settings), SCHEMA])
    keys = [[question.key for question in _questions(row, identity)] for row in rows]
    decisions = open_decisions(judge, dataset, chain(*keys))
    if decisions.unfinished():
        endpoint, about = open_endpoint(judge, SCHEMA, n_at_once), f"judge {judge.name}: {what}"
        session = Session(endpoint, read_criterion, decisions, judge.account(what), about)
        questions = (question for row in rows for question in _questions(row, identity))
        asyncio.run(ask_judge(session, questions))
    grades = [
        _grade(row, of_row, decisions)
        if of_row
        else Grade(None, "no answer: error" if row["outcome"] == "error" else NO_RUBRICS)
        for row, of_row in zip(rows, keys, strict=True)
    ]
    check_error_share(judge, what, [grade.reason for grade in grades])
    return grades
