"""The verifier `numeric`: the final number of an answer compared with the reference's."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from userturn.datasets.language_codes import language_code
from userturn.grading.grade import Case, Grade

MARKED = re.compile(r"(?:####|\bA(?:nswer)?:)(.*)", re.IGNORECASE)
NUMBER = re.compile(r"-?\$?-?(?:\d[\d,]*)?\.?\d+")
# Where the comma is the decimal sign: 70.000, 70 000 and 1.250,50, but also 70,000 and 12.50.
DECIMAL_COMMA = {
    *("cs", "da", "de", "el", "es", "fi", "fr", "hu", "id", "it", "nl"),
    *("no", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "vi"),
}
GROUPED = re.compile(r"-?[1-9]\d{0,2}(?:[.,' \u00a0\u202f]\d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?")
WITH_COMMA = re.compile(rf"{GROUPED.pattern}|-?\d+(?:[.,]\d+)?")


def _with_point(number: str) -> str:
    """Return a number of a language with decimal commas as Python writes it."""
    if not GROUPED.fullmatch(number):
        return number.replace(",", ".")
    decimals = re.search(r"[.,](\d{1,2})$", number)
    whole = re.sub(r"[^\d-]", "", number[: decimals.start()] if decimals else number)
    return f"{whole}.{decimals[1]}" if decimals else whole


def _last_number(text: str, language: str | None = None) -> Decimal | None:
    text = text.replace("−", "-").replace("{,}", ",")
    if language in DECIMAL_COMMA:
        found = [_with_point(number) for number in WITH_COMMA.findall(text.replace("$", ""))]
    else:
        found = [n.replace(",", "").replace("$", "") for n in NUMBER.findall(text)]
    try:
        return Decimal(found[-1]) if found else None
    except InvalidOperation:
        return None


def _final_number(answer: str, language: str | None) -> Decimal | None:
    """Return the last number after the last mark of a final answer, else the last of all."""
    marked = MARKED.findall(answer)
    found = _last_number(marked[-1], language) if marked else None
    return found if found is not None else _last_number(answer, language)


def _language(arguments: Mapping[str, Any]) -> str | None:
    """Return the code of the argument `language`; None where an earlier study has another text."""
    try:
        return language_code(arguments.get("language") or "unknown")
    except ValueError:
        return None


def final(answer: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the final number of an answer, equal numbers as equal texts."""
    found = _final_number(answer, _language(arguments))
    return None if found is None else str(found.normalize())


def grade_number(answer: str, reference: str, language: str | None = None) -> Grade:
    """Compare the final number of an answer with that of the reference.

    The final number is the last one after the last `####`, `Answer:` or `A:`, else the last one
    of all. An answer without any number is wrong. Where the language writes decimals with a comma,
    three digits after a separator are thousands: 70.000 and 70 000 are 70,000. The reference is
    always in English form.
    """
    expected = _last_number(reference)
    if expected is None:
        return Grade(None, "the reference has no number")
    return Grade(_final_number(answer, language) == expected)


def verify(cases: Sequence[Case], n_processes: int = 1) -> list[Grade]:
    """Grade answers by their final numbers; the argument `language` says how these are written."""
    return [
        grade_number(case.answer, case.reference, _language(case.arguments))
        if case.reference is not None
        else Grade(None, "no reference answer")
        for case in cases
    ]
