"""HealthBench's rubrics: the arithmetic of the reference, and a judge whose reply may not tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.judge_server import Asked, completion, judge_server
from tests.support.judged_cell import judge, spent
from tests.support.published_data import needs_shared_data, shared_rows
from userturn.grading.grade import mean_score
from userturn.grading.rubric import grade_by_rubric, grader_prompt, read_criterion, score
from userturn.judges.parse_reply import Reply, UnclearReplyError

RUBRICS = [
    {"criterion": "names a dose", "points": 5},
    {"criterion": "scares the user", "points": -3},
    {"criterion": "is short", "points": 1},
]
POINTS = [rubric["points"] for rubric in RUBRICS]
MESSAGES = [{"role": "user", "content": "How much {tea}?"}]


@pytest.mark.parametrize(
    ("met", "expected"),
    [
        ([True, False, True], 1.0),  # 6 of 6
        ([False, False, False], 0.0),
        ([True, True, True], 0.5),  # (5 - 3 + 1) / 6
        ([False, True, False], -0.5),  # -3 / 6, not clipped
    ],
)
def test_an_answers_score_is_points_met_by_points_to_be_had(
    met: list[bool], expected: float
) -> None:
    assert score(POINTS, met) == expected


def test_without_points_to_be_had_there_is_no_score() -> None:
    assert score([-1, -2], [True, False]) is None


def test_only_the_mean_over_answers_is_clipped() -> None:
    assert mean_score([-0.5, 1.0]) == 0.25
    assert mean_score([-0.5, 0.1]) == 0.0
    assert mean_score([]) is None


@pytest.mark.parametrize(
    ("reply", "met"),
    [
        ('{"explanation": "ok", "criteria_met": true}', True),
        ('```json\n{"explanation": "{}", "criteria_met": false}\n```', False),
        ('{"criteria_met": "true"}', None),
        ('{"explanation": "ok"}', None),
        ("[true]", None),
        ("yes", None),
        ("", None),
    ],
)
def test_only_a_plain_true_or_false_is_a_decision(reply: str, met: bool | None) -> None:
    if met is None:
        with pytest.raises(UnclearReplyError):
            read_criterion(Reply(reply))
    else:
        assert read_criterion(Reply(reply))["met"] is met


def test_the_judge_reads_conversation_answer_and_points() -> None:
    prompt = grader_prompt(MESSAGES, "Two cups.", RUBRICS[1])
    assert "user: How much {tea}?\n\nassistant: Two cups." in prompt
    assert "[-3] scares the user" in prompt


def rows() -> list[dict[str, Any]]:
    arguments = json.dumps({"rubrics": RUBRICS})
    row = {"messages": MESSAGES, "verifier_arguments": arguments, "outcome": "ok"}
    return [
        row | {"answer": "Two cups."},
        row | {"answer": "Many cups."},
        row | {"answer": None, "outcome": "error"},
    ]


def says(met: bool | str) -> bytes:
    return completion({"explanation": "e", "criteria_met": met})


@pytest.mark.slow
def test_a_judge_is_asked_about_every_criterion_once(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        text = asked.body["messages"][0]["content"]
        return says("short" not in text)  # 5 - 3 of 6 points

    with judge_server(answer) as server:
        asked = judge(tmp_path, server.url)
        grades = grade_by_rubric(asked, rows(), "grades/m/d", "d", 4)
        assert [grade.score for grade in grades] == [pytest.approx(2 / 6)] * 2 + [None]
        assert grade_by_rubric(asked, rows(), "grades/m/d", "d", 4) == grades
        assert len(server.asked) == 2 * 3 == spent(tmp_path).n_requests


@pytest.mark.slow
def test_a_criterion_that_stays_open_leaves_the_score_open(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:  # the first criterion is the endpoint's trial
        first = "dose" in asked.body["messages"][0]["content"]
        return says(True if first else "perhaps")

    with judge_server(answer) as server:
        grades = grade_by_rubric(judge(tmp_path, server.url), rows()[:1], "g", "d", 4)
    assert grades == [(None, "2 of 3 criteria stayed open", None, None)]


@needs_shared_data
@pytest.mark.parametrize(
    "file", ["healthbench_eval", "healthbench", "context_seeking_consensus_hard_104"]
)
def test_published_rubrics_keep_the_identities_of_the_score(file: str) -> None:
    for row in shared_rows(f"healthbench/{file}.jsonl"):
        points = [rubric["points"] for rubric in row["rubrics"]]
        positive = [p > 0 for p in points]
        assert score(points, positive) == 1.0, row["prompt_id"]
        assert score(points, [False] * len(points)) == 0.0, row["prompt_id"]
        everything, negative = score(points, [True] * len(points)), [not p for p in positive]
        assert everything is not None and everything <= 1.0, row["prompt_id"]
        assert (score(points, negative) or 0) < 0 or not any(negative), row["prompt_id"]
