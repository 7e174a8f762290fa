"""The verifier `math`: final answers compared as mathematics, by math-verify."""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from userturn.grading.grade import SECONDS, Case, Grade
from userturn.grading.same_value import plain_number, second_look
from userturn.processes import map_bounded

FINAL_LINE = re.compile(
    r"(?:^[^\w\n]*(?:the )?(?:final )?(?i:answer)|\bA(?i:nswer))[*_]*:[*_]*[ \t]*(\S.*)$",
    re.MULTILINE,
)
NOT_SURE = "math-verify calls them equal, and a stricter look does not decide"
DOLLARS = re.compile(r"\\[(\[](.*)\\[)\]]|\$\$?(.*?)\$?\$", re.DOTALL)


def boxed(text: str) -> str:
    r"""Return LaTeX inside \boxed{}, without the mathematics signs around it.

    math-verify reads bare LaTeX such as \text{Evelyn} or (1,2) only in this form.
    """
    text = text.strip().removesuffix(".")
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1]  # a model that copied the instruction's `<final answer>`
    whole = DOLLARS.fullmatch(text)
    inner = next(filter(None, whole.groups()), "") if whole else text
    return inner if r"\boxed" in inner else rf"\boxed{{{inner}}}"


def inner_text(text: str) -> str:
    """Return what a boxed text has inside, else the text."""
    return text.removeprefix(r"\boxed{").removesuffix("}") if text.startswith(r"\boxed{") else text


def final_answer(answer: str) -> str:
    r"""Return the final answer, boxed: the text of its last line `Answer: ...`.

    An answer without such a line is returned as it is; math-verify then looks for a \boxed{}
    or the last expression.
    """
    lines = FINAL_LINE.findall(answer)
    return boxed(lines[-1][0] + lines[-1][1:].rstrip("*_ \t")) if lines else answer


def final(answer: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the final answer of an answer that has a line for it; results are equal as texts."""
    return final_answer(answer) if FINAL_LINE.search(answer) else None


def _load() -> None:
    """Load math-verify, which takes seconds, before any time limit starts."""
    import math_verify  # noqa: F401

    logging.getLogger("math_verify").setLevel(logging.ERROR)


def mathematical(pair: tuple[str, str]) -> Grade:
    """Compare the final answer with the reference, both as mathematics.

    Two plain numbers are compared exactly; what math-verify calls equal is looked at once more.
    It has no time limit, so it must run in a process that can be ended.
    """
    from math_verify import parse, verify

    answer, reference = pair
    final = final_answer(answer)
    said, asked = inner_text(final), inner_text(boxed(reference))
    numbers = plain_number(said), plain_number(asked)
    if None not in numbers:
        return Grade(numbers[0] == numbers[1])
    try:
        expected = parse(boxed(reference), parsing_timeout=None, raise_on_error=True)
        found = parse(final, parsing_timeout=None, raise_on_error=True)
        if not expected:
            return Grade(None, "the reference cannot be read as mathematics")
        if not verify(expected, found, timeout_seconds=None, raise_on_error=True):
            return Grade(False)
        is_same = second_look(said, asked, found[0], expected[0])
        return Grade(is_same, NOT_SURE if is_same is None else None)
    except Exception as error:  # a failure of sympy does not make the answer wrong
        return Grade(None, f"math-verify cannot compare them: {type(error).__name__}")


def verify(cases: Sequence[Case], n_processes: int = 1, seconds: float = SECONDS) -> list[Grade]:
    """Grade answers as mathematics, in processes; one that takes over `seconds` is undecided."""
    pairs = [(case.answer, case.reference) for case in cases if case.reference is not None]
    grades = iter(map_bounded(mathematical, pairs, n_processes, seconds, _load))
    overdue = Grade(None, f"math-verify took more than {seconds:g} s")
    return [
        next(grades) or overdue
        if case.reference is not None
        else Grade(None, "no reference answer")
        for case in cases
    ]
