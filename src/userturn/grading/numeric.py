"""The verifier `numeric`: the final number of an answer compared with the reference's."""

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from userturn.grading.grade import Case, Grade

MARKED = re.compile(r"(?:####|\bA(?:nswer)?:)(.*)", re.IGNORECASE)
NUMBER = re.compile(r"-?\$?-?(?:\d[\d,]*)?\.?\d+")


def _last_number(text: str) -> Decimal | None:
    found = NUMBER.findall(text.replace("−", "-").replace("{,}", ","))
    if not found:
        return None
    try:
        return Decimal(found[-1].replace(",", "").replace("$", ""))
    except InvalidOperation:
        return None


def grade_number(answer: str, reference: str) -> Grade:
    """Compare the final number of an answer with that of the reference.

    The final number is the last one after the last `####`, `Answer:` or `A:`, else the last one
    of all. An answer without any number is wrong.
    """
    expected = _last_number(reference)
    if expected is None:
        return Grade(None, "the reference has no number")
    marked = MARKED.findall(answer)
    found = _last_number(marked[-1]) if marked else None
    return Grade((found if found is not None else _last_number(answer)) == expected)


def verify(cases: Sequence[Case], n_processes: int = 1) -> list[Grade]:
    """Grade answers by their final numbers."""
    return [
        grade_number(case.answer, case.reference)
        if case.reference is not None
        else Grade(None, "no reference answer")
        for case in cases
    ]
