"""Raw rates of a judge are findings only where both of its sides are shown: no other way in."""

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from userturn.stats.proportions import labels_to_reach, wilson
from userturn.tables.judge_validity import (
    Shortfall,
    judged_kin,
    not_validated,
    shortfalls,
    unknown_rates,
    warning,
)
from userturn.tables.judges import SCHEMA

LIMITS = {"min_sensitivity": 0.7, "min_specificity": 0.9}
ENDPOINT = {"kind": "endpoint"}
MEASURES = ("sensitivity", "specificity", "right side", "right label", "kappa")
SOURCES = ("human", "people", "labelled", "planted", "planted_hard")
Evidence = dict[tuple[str, str], tuple[int, int]]  # right and scored, by source and measure


def card(evidence: Evidence, by: str = "all") -> pl.DataFrame:
    rows = [
        {"judge": "j", "source": source, "by": by, "group": by, "measure": measure}
        | {"n_scored": n, "n_turns": n, **wilson(right, n)._asdict()}
        for (source, measure), (right, n) in evidence.items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


SHOWN: Evidence = {("people", "sensitivity"): (9, 9), ("people", "specificity"): (35, 35)}


def test_nine_of_nine_genuine_and_35_of_35_others_show_both_sides() -> None:
    # Wilson's lower limit of n of n is n / (n + 3.8415): 9 / 12.84 = .701, 35 / 38.84 = .901.
    assert shortfalls(card(SHOWN), "j", LIMITS) == []
    human = {("human", "sensitivity"): (9, 9), ("people", "specificity"): (35, 35)}
    assert shortfalls(card(human), "j", LIMITS) == []


@pytest.mark.parametrize(
    ("measure", "right", "n", "n_missing"),
    [
        ("sensitivity", 8, 8, 1),
        ("specificity", 34, 34, 1),
        ("specificity", 1, 1, 34),
        # One wrong: √n is (.588 + √(.3457 + .4)) / .2 = 7.258, n = 52.7: 53 in all.
        ("specificity", 34, 35, 18),
        ("sensitivity", 0, 8, None),
    ],
)
def test_thin_evidence_names_the_labels_that_are_missing(
    measure: str, right: int, n: int, n_missing: int | None
) -> None:
    (found,) = shortfalls(card(SHOWN | {("people", measure): (right, n)}), "j", LIMITS)
    assert (found.measure, found.n_missing) == (measure, n_missing)


def test_as_many_labels_as_are_named_show_a_side_and_one_less_does_not() -> None:
    for right, n in [(0, 0), (3, 3), (30, 33), (60, 70)]:
        more = labels_to_reach(0.9, right, n) or 0
        limits = [wilson(right + k, n + k).lower or 0 for k in (more - 1, more)]
        assert limits[0] < 0.9 <= limits[1]


def test_a_judge_that_nobody_measured_is_unknown_in_one_sentence() -> None:
    assert unknown_rates(None, LIMITS, ["j"]) == (
        "Not a finding, the true rates are unknown from the judge alone: j is not validated "
        "(sensitivity not shown, at least 9 labels of turns that people call genuine, or human "
        "follow-ups needed; specificity not shown, at least 35 labels of turns that people do not "
        "call genuine needed). A rate is a finding where people's labels correct it, however poor "
        "the judge."
    )


def test_a_study_without_thresholds_shows_nothing() -> None:
    many: Evidence = dict.fromkeys(SHOWN, (10000, 10000))
    assert [found.n_missing for found in shortfalls(card(many), "j", {})] == [None, None]


COUNTS = st.tuples(st.integers(0, 400), st.integers(0, 400)).map(lambda n: (min(n), max(n)))


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.tuples(st.sampled_from(SOURCES), st.sampled_from(MEASURES)), COUNTS),
    st.booleans(),
)
def test_no_evidence_but_limits_of_both_sides_opens_the_gate(evidence: Evidence, few: bool) -> None:
    if not few:  # a chance for the gate to be opened
        evidence = evidence | {key: (380 + right % 21, 400) for key, (right, _) in evidence.items()}

    def reaches(measure: str, sources: tuple[str, ...], least: float) -> bool:
        counts = {s: evidence[s, measure] for s in sources if evidence.get((s, measure), (0, 0))[1]}
        limits = {source: wilson(right, n) for source, (right, n) in counts.items()}
        shown = any((one.lower or 0) >= least for one in limits.values())
        react = {"human": 0.52, "people": 1.0}  # all that people call genuine reacts
        return shown and all((one.upper or 0) >= least * react[s] for s, one in limits.items())

    may = reaches("sensitivity", ("human", "people"), 0.7)
    may = may and reaches("specificity", ("people",), 0.9)
    assert (shortfalls(card(evidence), "j", LIMITS) == []) == may
    assert (unknown_rates(card(evidence), LIMITS, ["j"]) is None) == may
    assert shortfalls(card(evidence, by="language"), "j", LIMITS) != []
    assert shortfalls(card(evidence), "another", LIMITS) != []


def test_turns_of_a_source_that_refutes_a_judge_close_what_another_opens() -> None:
    (found,) = shortfalls(card(SHOWN | {("human", "sensitivity"): (13, 60)}), "j", LIMITS)
    # Wilson of 13 of 60: [.131, .336], below .52 of .7, so below what a judge of .7 would reach.
    assert found.why == (
        "sensitivity 0.22 [0.13, 0.34] on 60 human follow-ups, its lower limit must reach 0.7"
    )


def test_human_follow_ups_of_which_half_may_not_react_leave_a_judge_that_people_show() -> None:
    # Wilson of 30 of 60: [.377, .623]. A judge that recognises .8 of those that react, and nothing
    # else, calls .42 genuine if .52 react.
    some = {("human", "sensitivity"): (30, 60)}
    assert shortfalls(card(SHOWN | some), "j", LIMITS) == []
    (alone,) = shortfalls(card({("people", "specificity"): (35, 35)} | some), "j", LIMITS)
    assert alone == Shortfall(
        "sensitivity",
        "sensitivity 0.50 [0.38, 0.62] on 60 human follow-ups, its lower limit must reach 0.7: at "
        "least 9 labels of turns that people call genuine needed",
        9,
    )


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
    study = grid("openai/gpt-oss-20b", "gpt-oss-120b")
    assert not_validated(card(SHOWN), study) is None
    assert warning(card(SHOWN), study) == (
        "The judge j is of the family of gpt-oss-120b, which it judges."
    )
