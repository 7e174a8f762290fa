"""Programs are found in answers and graded by their tests."""

import gzip
import json
from typing import Any

import pytest

from tests.sandbox.test_run import needs_sandbox
from tests.support.published_data import SHARED, needs_shared_data
from userturn.grading.code import code_of, verify
from userturn.grading.grade import Case, Grade

SOLVED = "def f(x):\n    return x\n"


@pytest.mark.parametrize(
    "answer",
    [
        f"Here:\n```python\n{SOLVED}```\nThat is all.",
        f"One:\n```\ndef f(x): return 0\n```\nBetter:\n```py\n{SOLVED}```\nUse:\n```\nf(1)\n```",
        f"~~~\n{SOLVED}~~~",
        f"````python\n{SOLVED}````",
        "1. Do this:\n\n   ```python\n   def f(x):\n       return x\n   ```\n2. Use it.",
        f"Cut off:\n```python\n{SOLVED}",
        SOLVED,
    ],
)
def test_a_program_is_the_last_block_that_defines_the_function(answer: str) -> None:
    assert code_of(answer, "f").strip() == SOLVED.strip()
    assert code_of(answer, None).strip() == SOLVED.strip()


def test_another_function_is_not_taken_for_the_one_asked_for() -> None:
    answer = f"```\n{SOLVED}```\nand tests:\n```\ndef f_test(): f(1)\n```"
    assert code_of(answer, "f") == SOLVED


def test_a_body_keeps_its_indentation_and_goes_on_with_the_start() -> None:
    assert code_of("    return x\n", "f") == "    return x\n"


def human_eval() -> list[dict[str, Any]]:
    with gzip.open(SHARED / "humaneval" / "HumanEval.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def graded(answers: dict[str, str]) -> list[Grade]:
    """Grade answers to some problems, by their ids."""
    columns = {"start": "prompt", "tests": "test", "function": "entry_point"}
    return verify(
        [
            Case(
                answers[row["task_id"]],
                arguments={key: row[column] for key, column in columns.items()},
            )
            for row in human_eval()
            if row["task_id"] in answers
        ],
        2,
    )


@pytest.mark.slow
@needs_sandbox
@needs_shared_data
def test_canonical_solutions_of_humaneval_pass_and_empty_functions_fail() -> None:
    bodies = {row["task_id"]: row["canonical_solution"] for row in human_eval()}
    assert graded(bodies) == [Grade(True)] * 164
    empty = dict.fromkeys(list(bodies)[::8], "    pass\n")
    assert [grade.correct for grade in graded(empty)] == [False] * 21


@needs_sandbox
def test_tests_may_be_a_list_of_statements_as_in_mbpp() -> None:
    arguments = {"start": "import math", "tests": ["assert f(4) == 2", "assert f(9) == 3"]}
    right = Case("```python\ndef f(x):\n    return math.isqrt(x)\n```", arguments=arguments)
    wrong = Case("```python\ndef f(x):\n    return 2\n```", arguments=arguments)
    assert verify([right, wrong]) == [
        Grade(True),
        Grade(False, "its tests ended in AssertionError"),
    ]


def test_an_item_without_tests_stays_open() -> None:
    assert verify([Case("x = 1")]) == [Grade(None, "no tests")]
