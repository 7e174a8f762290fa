"""Grade the answers to a dataset by its verifier: correct, wrong, or undecided, never a guess."""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from userturn.judges.judge import Judge
from userturn.storage.table_files import ANSWER_KEYS, Schema, write_table

STAYED_OPEN = "criteria stayed open"  # in the reason of a grade that a judge may still give

SECONDS = 20.0  # for one answer; most verifiers need milliseconds


class Case(NamedTuple):
    """One answer with the fields of its item that a verifier needs."""

    answer: str
    reference: str | None = None
    arguments: Mapping[str, Any] = MappingProxyType({})
    prompt: str = ""


class Grade(NamedTuple):
    """A grade of one answer: correct, wrong, or undecided (None) with a reason.

    `correct_loose` is the loose grade of instruction following, and None for other verifiers.
    `score` is the score of a rubric, which calls no answer correct or wrong, else None.
    """

    correct: bool | None
    reason: str | None = None
    correct_loose: bool | None = None
    score: float | None = None


def fitting(grade: Callable[[Case], Grade], case: Case) -> Grade:
    """Return the grade of a case, undecided if its item's arguments do not fit the verifier."""
    try:
        return grade(case)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        return Grade(None, f"the item's arguments do not fit its verifier: {type(error).__name__}")


def all_of(decisions: Sequence[bool | None]) -> bool | None:
    """Return False if any is False, else None if any is open, else True."""
    return False if False in decisions else None if None in decisions else True


Verifier = Callable[[Sequence[Case], int], list[Grade]]
"""Grades cases in order, with at most the given number of processes."""


def mean_score(scores: Sequence[float]) -> float | None:
    """Return the mean of the scores of many answers, clipped to [0, 1], or None without scores."""
    return min(1.0, max(0.0, sum(scores) / len(scores))) if scores else None


OF_A_GRADE: Schema = {
    "correct": pl.Boolean,
    "correct_loose": pl.Boolean,
    "score": pl.Float64,
    "reason": pl.String,
}
GRADES_SCHEMA: Schema = {**dict.fromkeys(ANSWER_KEYS, pl.String), **OF_A_GRADE}

CANDIDATE_GRADES_SCHEMA: Schema = {  # where an item has several answers
    **dict.fromkeys(ANSWER_KEYS, pl.String),
    "sample": pl.Int64,
    **OF_A_GRADE,
}


def verifier_named(name: str) -> Verifier:
    """Return the function `verify` of a verifier's module. `rubric` has none: it asks a judge."""
    verify: Verifier = import_module(f"userturn.grading.{name}").verify
    return verify


def final_result(verifier: str, answer: str, arguments: str | None) -> str | None:
    """Return the result that an answer ends in, by which equal answers are counted in a vote.

    Return None if the answer has no result, or if the verifier's module has no function `final`.
    `arguments` are those of the item, as JSON.
    """
    find = getattr(import_module(f"userturn.grading.{verifier}"), "final", None)
    result: str | None = find(answer, json.loads(arguments or "{}")) if find else None
    return result


def grade_answers(
    verifier: str, rows: Sequence[Mapping[str, Any]], n_processes: int = 1
) -> list[Grade]:
    """Return the grades of rows of `answers_to_grade`, in order, undecided for a missing answer."""
    if verifier == "none":
        return [Grade(None, "no verifier") for _ in rows]
    answered = [
        Case(
            answer=row["answer"] or "",
            reference=row["reference_answer"],
            arguments=json.loads(row["verifier_arguments"] or "{}"),
            prompt=row["messages"][-1]["content"],
        )
        for row in rows
        if row["outcome"] != "error"
    ]
    grades = iter(verifier_named(verifier)(answered, n_processes))
    return [
        Grade(None, "no answer: error") if row["outcome"] == "error" else next(grades)
        for row in rows
    ]


def grade(
    verifier: str,
    identity: str,
    n_processes: int,
    path_to_answers: str,
    path_to_items: str,
    path_to_grades: str,
    grader: Judge | None = None,
    n_at_once: int = 0,
) -> None:
    """Write one grade per answer: model, dataset, item, correct, correct_loose, score, reason.

    If an item has several answers, each has its `sample`.

    The verifier `rubric` asks the judge `grader`, at most `n_at_once` questions at a time, and
    gives a score (`grade_by_rubric` has its errors). `correct` is null for a score, or if the
    verifier is undecided. `reason` says why, or why an answer is wrong. `correct_loose` is also
    null if there is no loose reading.
    """
    rows = answers_to_grade(pl.read_parquet(path_to_answers), pl.read_parquet(path_to_items))
    if grader is not None:
        from userturn.grading.rubric import grade_by_rubric  # the client takes a second to import

        model, dataset = rows.select("model", "dataset").row(0)
        what = f"grades/{model}/{dataset}"
        grades = grade_by_rubric(grader, rows.to_dicts(), what, dataset, n_at_once)
    else:
        grades = grade_answers(verifier, rows.to_dicts(), n_processes)
    write_table(grades_table(rows, grades), path_to_grades, identity, rules="2")


def answers_to_grade(answers: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Return answers with their items' `messages`, `reference_answer` and `verifier_arguments`."""
    questions = items.select("item", "messages", "reference_answer", "verifier_arguments")
    texts = answers.select(*keys_of(answers), "outcome", "answer")
    return texts.join(questions, on="item", how="left", maintain_order="left")


def keys_of(answers: pl.DataFrame) -> list[str]:
    """Return the columns that identify an answer, with `sample` if an item has several answers."""
    return [name for name in (*ANSWER_KEYS, "sample") if name in answers.columns]


def grades_table(rows: pl.DataFrame, grades: Sequence[Grade]) -> pl.DataFrame:
    """Return grades as a table, one row per answer."""
    return rows.select(keys_of(rows)).with_columns(
        pl.Series(name, [getattr(grade, name) for grade in grades], dtype=kind)
        for name, kind in OF_A_GRADE.items()
    )
