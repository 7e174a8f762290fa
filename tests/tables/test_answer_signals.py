"""Table `answer_signals`: areas, best answers and their changes, by hand."""

from typing import Any

import polars as pl
import pytest

from userturn.tables.answer_signals import (
    ACCURACY,
    AREA,
    CHANGE,
    NO_SIGNAL,
    NOT_MIXED,
    RANDOM,
    VOTE,
    add_signals,
    answer_signals,
)

ODDS, LOGPROB = "satisfaction over correction", "mean log-probability"
# By item: whether each answer is right, and its log-odds. Item c is all right, d has an open grade.
ANSWERS: dict[str, list[tuple[bool | None, float | None]]] = {
    "a": [(True, 2.0), (False, 1.0)],
    "b": [(True, 0.0), (False, 1.0)],
    "c": [(True, 1.0), (True, 0.0)],
    "d": [(False, 3.0), (None, 9.0)],
}


def candidates(**others: Any) -> pl.DataFrame:
    rows = [
        {"model": "m", "dataset": "d", "item": item, "sample": k, "correct": right, ODDS: odds}
        for item, answers in ANSWERS.items()
        for k, (right, odds) in enumerate(answers)
    ]
    signals = {
        name: pl.lit(others.get(name), pl.Float64)
        for name in ("satisfaction", "correction", "contingency", LOGPROB, VOTE)
    }
    return pl.DataFrame(rows).with_columns(**signals)


def row(
    table: pl.DataFrame, signal: str, measure: str, baseline: str | None = None
) -> dict[str, Any]:
    """Return the one row of a signal and measure."""
    (found,) = table.filter(
        pl.col("baseline").eq_missing(baseline), signal=signal, measure=measure
    ).to_dicts()
    return found


def test_pairs_are_of_one_item_and_items_are_counted_by_what_they_hold() -> None:
    found = row(answer_signals(candidates()), ODDS, AREA)
    assert found["estimate"] == 0.5  # won in a, lost in b
    names = ("n_items", "n_mixed", "n_all_right", "n_all_wrong", "n_pairs", "n_undecided")
    assert [found[name] for name in names] == [4, 2, 1, 1, 2, 1]
    assert found["p"] == 1.0


def test_the_best_answer_is_compared_with_a_random_one_of_the_same_items() -> None:
    """Best: right in a and c, wrong in b and d. Random: .5, .5, 1 and 0."""
    table = answer_signals(candidates())
    assert row(table, ODDS, ACCURACY)["estimate"] == 0.5
    assert row(table, RANDOM, ACCURACY)["estimate"] == 0.5
    change = row(table, ODDS, CHANGE, RANDOM)
    assert (change["estimate"], change["p"]) == (0, 1)


def test_the_order_of_answers_changes_nothing() -> None:
    rows = candidates(**{VOTE: 1.0})
    shuffled = rows.sample(fraction=1, shuffle=True, seed=1)
    assert answer_signals(shuffled).equals(answer_signals(rows))


def test_a_signal_that_nobody_has_says_so_and_chooses_nothing() -> None:
    table = answer_signals(candidates())
    found = row(table, LOGPROB, AREA)
    assert (found["reason"], found["n_without_signal"]) == (NO_SIGNAL, 7)
    assert table.filter(baseline=LOGPROB).is_empty()


def test_a_signal_that_is_equal_everywhere_tells_nothing() -> None:
    table = answer_signals(candidates(**{LOGPROB: -1.0}))
    assert row(table, LOGPROB, AREA)["estimate"] == 0.5
    assert row(table, LOGPROB, CHANGE, RANDOM)["estimate"] == 0


def test_where_no_item_has_both_there_is_no_area_but_a_reason() -> None:
    right = candidates().with_columns(correct=pl.lit(True))
    assert row(answer_signals(right), ODDS, AREA)["reason"] == NOT_MIXED


def test_holm_adjusts_the_tests_of_one_measure() -> None:
    """Of one item the sign test has p = 1, and the adjusted p is never below it."""
    table = answer_signals(candidates(**{LOGPROB: -1.0})).drop_nulls("p")
    assert (table["p_adjusted"] >= table["p"]).all()
    assert table["p_adjusted"].max() == 1


def test_no_two_signals_are_compared_twice() -> None:
    table = answer_signals(candidates(**{LOGPROB: -1.0, VOTE: 1.0}))
    compared = table.drop_nulls("baseline").select("signal", "baseline").rows()
    assert len({frozenset(pair) for pair in compared}) == len(compared) > 3


def test_ungraded_answers_alone_give_counts_and_no_numbers() -> None:
    open_ones = candidates().with_columns(correct=pl.lit(None, pl.Boolean))
    table = answer_signals(open_ones)
    assert table["estimate"].null_count() == table.height
    assert set(table["n_undecided"]) == {8}


def test_votes_count_equal_results_and_verdicts_become_signals() -> None:
    key = {"model": "m", "dataset": "d", "item": "i"}
    answers = ["Answer: 7", "It is 7.0", "Answer: 8", "none"]
    given = pl.DataFrame(
        [
            key | {"sample": k, "answer": text, "correct": k < 2, "verifier_arguments": None}
            for k, text in enumerate(answers)
        ],
        schema_overrides={"verifier_arguments": pl.String},
    )
    known = pl.DataFrame([key | {"sample": k, ODDS: 0.0} for k in range(4)])
    verdicts = pl.DataFrame(
        [key | {"sample": k, "judge": "j", "genuine": g} for k, g in enumerate([True, False, None])]
    )
    found = add_signals(given, known, verdicts, {"d": "numeric"})
    assert found[VOTE].to_list() == [2.0, 2.0, 1.0, None]
    assert found["genuine, j"].to_list() == [1.0, 0.0, None, None]
    no_vote = add_signals(given, known, verdicts, {"d": "code"})
    assert no_vote[VOTE].null_count() == 4


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_what_all_answers_of_an_item_share_changes_nothing(shift: float) -> None:
    moved = candidates().with_columns(
        pl.when(pl.col("item") == "a").then(pl.col(ODDS) + shift).otherwise(ODDS).alias(ODDS)
    )
    assert row(answer_signals(moved), ODDS, AREA)["estimate"] == 0.5
