"""A judge's rates are findings only where its card reaches every threshold."""

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from userturn.judges import heuristic
from userturn.tables.judge_card import SCHEMA
from userturn.tables.judge_validity import judged_kin, not_validated, shortfalls, warning

LIMITS = {"min_sensitivity": 0.7, "min_specificity": 0.9, "min_kappa": 0.6}
GOOD = {"sensitivity": 0.8, "specificity": 0.95, "kappa": 0.7}
ENDPOINT = {"kind": "endpoint"}


def card(n_scored: int = 20, **sources: dict[str, float | None]) -> pl.DataFrame:
    rows = [
        {"judge": "j", "source": source, "by": "all", "group": "all"}
        | {"measure": measure, "estimate": estimate, "n_scored": n_scored}
        for source, measures in sources.items()
        for measure, estimate in measures.items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def test_a_judge_that_reaches_every_threshold_has_none_to_answer_for() -> None:
    assert shortfalls(card(labelled=GOOD, human={"sensitivity": 0.7}), "j", ENDPOINT, LIMITS) == []


@pytest.mark.parametrize(
    ("measure", "value"), [("sensitivity", 0.69), ("specificity", 0.89), ("kappa", 0.5)]
)
@pytest.mark.parametrize(
    ("source", "name"),
    [("labelled", "the project's labelled turns"), ("people", "turns that people labelled")],
)
def test_one_measure_below_its_threshold_is_named(
    source: str, name: str, measure: str, value: float
) -> None:
    found = shortfalls(card(**{source: GOOD | {measure: value}}), "j", ENDPOINT, LIMITS)
    assert found == [f"{measure} {value:.2f} on {name}, {LIMITS['min_' + measure]:g} needed"]


def test_what_is_too_low_on_the_same_turns_is_told_together() -> None:
    low = {"sensitivity": 0.1, "specificity": 0.2, "kappa": -0.3}
    assert shortfalls(card(labelled=GOOD, people=low), "j", ENDPOINT, LIMITS) == [
        "kappa −0.30, sensitivity 0.10 and specificity 0.20 on turns that people labelled, "
        "0.6, 0.7 and 0.9 needed"
    ]


def test_a_judge_that_no_labelled_turn_or_person_tested_is_not_validated() -> None:
    assert shortfalls(card(human={"sensitivity": 1.0}), "j", ENDPOINT, LIMITS) == [
        "it was not measured on labelled turns or by people"
    ]
    nothing = card(labelled={"sensitivity": None})
    assert len(shortfalls(nothing, "j", ENDPOINT, LIMITS)) == 1


def test_turns_that_a_judges_rules_were_written_by_do_not_test_it() -> None:
    entry = {"kind": "heuristic"}
    assert heuristic.SAW_LABELLED_TURNS
    assert shortfalls(card(labelled=GOOD), "j", entry, LIMITS) == [
        "its rules were written with the labelled turns in view, and no person has checked it"
    ]
    assert shortfalls(card(labelled=GOOD, people=GOOD), "j", entry, LIMITS) == []


def test_easy_planted_failures_neither_validate_nor_fail_a_judge() -> None:
    easy = card(planted={"specificity": 0.5}, labelled=GOOD)
    assert shortfalls(easy, "j", ENDPOINT, LIMITS) == []
    assert len(shortfalls(card(planted={"specificity": 1.0}), "j", ENDPOINT, LIMITS)) == 1


FOOLED = [
    ("human", "sensitivity", 0.5, "sensitivity 0.50 on human follow-ups, 0.7 needed"),
    ("planted_hard", "specificity", 0.8, "specificity 0.80 on hard planted failures, 0.9 needed"),
]


@pytest.mark.parametrize(("source", "measure", "value", "said"), FOOLED)
def test_a_judge_that_only_labelled_turns_do_not_fool_is_not_validated(
    source: str, measure: str, value: float, said: str
) -> None:
    fooled: dict[str, Any] = {source: {measure: value}, "labelled": GOOD}
    assert shortfalls(card(**fooled), "j", ENDPOINT, LIMITS) == [said]


@pytest.mark.parametrize(("source", "measure", "value", "said"), FOOLED)
def test_a_source_of_few_turns_fails_nobody(
    source: str, measure: str, value: float, said: str
) -> None:
    few = card(19, **{source: {measure: value}})
    assert shortfalls(pl.concat([few, card(labelled=GOOD)]), "j", ENDPOINT, LIMITS) == []


def test_hard_planted_failures_alone_validate_nobody() -> None:
    alone = card(planted_hard={"specificity": 1.0}, human={"sensitivity": 1.0})
    assert len(shortfalls(alone, "j", ENDPOINT, LIMITS)) == 1


def test_only_measures_over_all_turns_of_a_source_count() -> None:
    of_a_language = card(labelled=GOOD | {"kappa": 0.1}).with_columns(
        by=pl.when(pl.col("measure") == "kappa").then(pl.lit("language")).otherwise("by")
    )
    assert shortfalls(of_a_language, "j", ENDPOINT, LIMITS) == []


def grid(model: str, judged: str) -> Any:
    """Return what the functions read of a grid: one model, one judge with a model of its own."""
    judges = {"j": ENDPOINT | {"model": model}}
    return SimpleNamespace(judges=judges, models={judged: {}}, config={"judge_card": LIMITS})


@pytest.mark.parametrize(
    ("model", "judged", "is_kin"),
    [
        ("openai/gpt-oss-20b", "gpt-oss-120b", True),
        ("Qwen/Qwen3.5-9B", "qwen3.5-0.8b", True),
        ("Qwen/Qwen3.5-9B", "glm-4.7", False),
        ("gpt-5.4-mini", "gpt-oss-20b", False),
        ("", "glm-4.7", False),
    ],
)
def test_a_judge_of_the_family_of_a_judged_model_is_named(
    model: str, judged: str, is_kin: bool
) -> None:
    assert judged_kin(grid(model, judged), "j") == ([judged] if is_kin else [])


def test_what_a_validated_judge_says_of_its_own_family_is_no_finding_withheld() -> None:
    study, passed = grid("openai/gpt-oss-20b", "gpt-oss-120b"), card(labelled=GOOD)
    assert not_validated(passed, study) is None
    assert warning(passed, study) == (
        "The judge j is of the family of gpt-oss-120b, which it judges."
    )


def test_a_negative_kappa_is_told_with_a_minus() -> None:
    told = shortfalls(card(labelled=GOOD | {"kappa": -0.12}), "j", ENDPOINT, LIMITS)
    assert told == ["kappa −0.12 on the project's labelled turns, 0.6 needed"]
