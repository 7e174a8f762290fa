"""Verifiers: is an answer right? True, False, or undecided with a reason, never a guess."""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import polars as pl

from userturn.tables import write_table

MARKED = re.compile(r"(?:####|\bA(?:nswer)?:)(.*)", re.IGNORECASE)
NUMBER = re.compile(r"-?\$?(?:\d[\d,]*)?\.?\d+")


class Grade(NamedTuple):
    """A verdict on one answer: right, wrong, or undecided (None) with a reason."""

    correct: bool | None
    reason: str | None


def _last_number(text: str) -> Decimal | None:
    found = NUMBER.findall(text)
    if not found:
        return None
    try:
        return Decimal(found[-1].replace(",", "").replace("$", ""))
    except InvalidOperation:
        return None


def numeric(answer: str, reference: str) -> Grade:
    """Compare the final number of an answer with that of the reference.

    The final number is the last one behind the last `####`, `Answer:` or `A:`, else the last one
    of all. An answer without any number is wrong.
    """
    expected = _last_number(reference)
    if expected is None:
        return Grade(None, f"the reference '{reference}' has no number")
    marked = MARKED.findall(answer)
    found = _last_number(marked[-1]) if marked else None
    return Grade((found if found is not None else _last_number(answer)) == expected, None)


VERIFIERS: dict[str, Callable[[str, str], Grade]] = {"numeric": numeric}


def grade_answer(verifier: str, outcome: str, answer: str, reference: str | None) -> Grade:
    """Grade one answer; what the model never answered for lack of a working machine stays open."""
    if verifier == "none":
        return Grade(None, "no verifier")
    if outcome == "error":
        return Grade(None, "no answer: error")
    if reference is None:
        return Grade(None, "no reference answer")
    return VERIFIERS[verifier](answer, reference)


def grade(
    verifier: str, identity: str, path_to_answers: str, path_to_items: str, path_to_grades: str
) -> None:
    """Write one grade an answer: model, dataset, item, correct (null where undecided), reason."""
    answers = pl.read_parquet(
        path_to_answers, columns=["model", "dataset", "item", "outcome", "answer"]
    )
    references = pl.read_parquet(path_to_items, columns=["item", "reference_answer"])
    table = answers.join(references, on="item", how="left", maintain_order="left")
    grades = [
        grade_answer(verifier, row["outcome"], row["answer"] or "", row["reference_answer"])
        for row in table.iter_rows(named=True)
    ]
    graded = table.select("model", "dataset", "item").with_columns(
        pl.Series("correct", [g.correct for g in grades], dtype=pl.Boolean),
        pl.Series("reason", [g.reason for g in grades], dtype=pl.String),
    )
    write_table(graded, path_to_grades, identity)
