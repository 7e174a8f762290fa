"""The verifier `numeric`: the final number of an answer compared with the reference's."""

from collections.abc import Mapping, Sequence
from typing import Any

from userturn.datasets.language import language_code
from userturn.grading.grade import Case, Grade
from userturn.grading.numbers import final_reading


def _language(arguments: Mapping[str, Any]) -> str | None:
    """Return the code of the argument `language`, or None for the free text of an earlier study."""
    try:
        return language_code(str(arguments.get("language") or "unknown"))
    except ValueError:
        return None


def final(answer: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the final number of an answer in one spelling per value; None if none or in doubt."""
    reading = final_reading(answer, _language(arguments))
    (value, *more) = reading.values or [None]
    return None if value is None or more or reading.is_open else str(value)


def grade_number(answer: str, reference: str, language: str | None = None) -> Grade:
    r"""Compare the final number of an answer with the reference's final number.

    The final number is that after the last `####`, `Answer:`, `A:` or in `\boxed{}`, else the last
    one of all. An answer without any number is wrong. It is undecided if a reader could argue
    whether its number is the reference's, or if the reference is not one plain number. `language`
    says how the answer writes numbers. The reference is always in English form.
    """
    expected = final_reading(reference)
    if expected.is_open or len(expected.values) > 1:
        return Grade(None, "the reference has several numbers, or one that is not plain")
    if not expected.values:
        return Grade(None, "the reference has no number")
    reading = final_reading(answer, language)
    correct = reading.is_equal(*expected.values)
    if not correct and reading.values & expected.others:  # .75 for 75%
        correct = None
    return Grade(correct, "several numbers, or none that is plain" if correct is None else None)


def verify(cases: Sequence[Case], n_processes: int = 1) -> list[Grade]:
    """Grade answers by their final numbers, which are read as the argument `language` says."""
    return [
        grade_number(case.answer, case.reference, _language(case.arguments))
        if case.reference is not None
        else Grade(None, "no reference answer")
        for case in cases
    ]
