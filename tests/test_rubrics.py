"""HealthBench's rubrics: the arithmetic of the reference, and a judge whose reply may not tell."""

import pytest

from tests.shared import needs_shared_data, shared_rows
from userturn.rubrics import grader_prompt, mean_score, parse_reply, score, score_answer

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
        ('Here:\n```json\n{"explanation": "{}", "criteria_met": false}\n```', False),
        ('{"criteria_met": "true"}', None),
        ('{"explanation": "ok"}', None),
        ("[true]", None),
        ("yes", None),
        ("", None),
    ],
)
def test_only_a_plain_true_or_false_is_a_decision(reply: str, met: bool | None) -> None:
    assert parse_reply(reply) is met


def test_the_judge_reads_conversation_answer_and_points() -> None:
    prompt = grader_prompt(MESSAGES, "Two cups.", RUBRICS[1])
    assert "user: How much {tea}?\n\nassistant: Two cups." in prompt
    assert "[-3] scares the user" in prompt


def test_an_unreadable_reply_is_asked_for_again_and_at_last_leaves_the_score_open() -> None:
    met = '{"criteria_met": true}'
    replies = iter(["?", met, met, met])
    assert score_answer(MESSAGES, "a", RUBRICS, lambda _: next(replies)) == 0.5
    asked: list[str] = []
    assert score_answer(MESSAGES, "a", RUBRICS, lambda p: asked.append(p) or "?") is None
    assert len(asked) == 3


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
