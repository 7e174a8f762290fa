"""Rates and accuracies: every count by hand, every degenerate case."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from userturn.datasets.turns import version_id
from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import Patterns, clustered_rate
from userturn.tables.accuracy import accuracy
from userturn.tables.rates import cell_rates, outcomes_of, rates
from userturn.tables.turn_rates import count_verdicts

CELL = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none"}


def turns(*outcomes: str) -> pl.DataFrame:
    rows = [
        CELL | {"item": str(i), "outcome": o, "finish_reason": "length" if o == "ok" else "stop"}
        for i, o in enumerate(outcomes)
    ]
    return pl.DataFrame(rows)


def verdicts(*genuine: bool | None) -> pl.DataFrame:
    reasons = ["the judge refused" if g is None else None for g in genuine]
    return pl.DataFrame(
        {
            "judge": "h",
            "item": [str(i) for i in range(len(genuine))],
            "sample": 0,
            "genuine": pl.Series(genuine, dtype=pl.Boolean),
            "label": [None if g is None else GENUINE if g else "generic" for g in genuine],
            "unscored_reason": pl.Series(reasons, dtype=pl.String),
        }
    ).with_columns(pl.lit(value).alias(name) for name, value in CELL.items())


def table(turns: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    answers = turns.select("model", "dataset", finish_reason=pl.lit("length"))
    labels = verdicts["label"].drop_nulls().unique().sort().to_list()
    items = count_verdicts(verdicts.lazy(), labels).with_columns(family=pl.lit("f"))
    return rates(items, outcomes_of(turns.lazy(), verdicts.lazy(), answers))


def summary(turns: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, Any]:
    return cell_rates(table(turns, verdicts)).row(0, named=True)


def test_summary_counts_outcomes_and_verdicts() -> None:
    # 5 turns: 3 ok (cut at the limit), 1 empty, 1 error; verdicts: 2 genuine, 2 not, 1 open.
    row = summary(
        turns("ok", "ok", "ok", "empty", "error"), verdicts(True, True, False, False, None)
    )
    counts = {key: value for key, value in row.items() if key.startswith("n_")}
    assert counts == {
        "n_datasets": 1,
        "n_items": 5,
        "n_turns": 5,
        "n_ok": 3,
        "n_empty": 1,
        "n_error": 1,
        "n_truncated": 3,
        "n_scored": 4,
        "n_refused": 1,
        "n_positive": 2,
        "n_answers": 5,
        "n_answers_cut": 5,
        **dict.fromkeys(["n_judged_again", "n_scored_again", "n_copies", "n_distinct"]),
        **dict.fromkeys(["n_turns_drawn_from", "n_labelled"]),
    }
    assert (row["estimate"], row["coverage"]) == (2 / 4, 4 / 5)
    assert (row["if_unscored_negative"], row["if_unscored_positive"]) == (2 / 5, 3 / 5)


def test_cell_without_a_verdict_has_no_rate_but_bounds() -> None:
    row = summary(turns("error", "error"), verdicts(None, None))
    assert (row["estimate"], row["lower"], row["upper"]) == (None, None, None)
    assert (row["if_unscored_negative"], row["if_unscored_positive"]) == (0, 1)


def test_a_study_without_a_verdict_has_no_rate() -> None:
    assert table(turns("ok").clear(), verdicts(True).clear()).is_empty()


def test_shares_of_the_labels_of_a_cell_add_up_to_one_and_the_genuine_one_is_its_rate() -> None:
    shares = table(turns("ok", "ok", "ok", "ok"), verdicts(True, False, False, None))
    of_cell = dict(shares.filter(scope="cell").select("label", "estimate").rows())
    assert of_cell == {GENUINE: pytest.approx(1 / 3), "generic": pytest.approx(2 / 3)}


@pytest.mark.parametrize(("n_genuine", "n_turns"), [(0, 1), (1, 1), (0, 40), (40, 40), (13, 40)])
def test_estimate_lies_in_its_interval(n_genuine: int, n_turns: int) -> None:
    row = summary(turns(*["ok"] * n_turns), verdicts(*[i < n_genuine for i in range(n_turns)]))
    assert 0 <= row["lower"] <= row["estimate"] <= row["upper"] <= 1


def test_accuracy_leaves_undecided_answers_out_of_its_denominator() -> None:
    grades = pl.DataFrame(
        {
            "model": "m",
            "dataset": ["d"] * 4 + ["e"],
            "item": list("abcde"),
            "correct": [True, True, False, None, None],
            "correct_loose": [True, True, True, True, None],
            "score": [None, None, None, None, 0.4],
        }
    )
    answers = grades.select("model", "dataset", finish_reason=pl.lit("stop"))
    rows = accuracy(grades, answers).rows(named=True)
    assert [rows[0][key] for key in ("n_items", "n_graded", "n_correct", "n_undecided")] == [
        4,
        3,
        2,
        1,
    ]
    assert rows[0]["estimate"] == 2 / 3
    assert (rows[1]["n_graded"], rows[1]["estimate"]) == (0, None)
    assert (rows[0]["mean_score"], rows[1]["mean_score"]) == (None, 0.4)
    assert [row["estimate_loose"] for row in rows] == [1.0, None]
    assert (rows[0]["n_graded_loose"], rows[0]["n_correct_loose"]) == (4, 4)


def test_answers_cut_at_the_token_limit_are_counted() -> None:
    answers = pl.DataFrame(
        {
            "model": "m",
            "dataset": ["d", "d", "d", "e"],
            "finish_reason": ["length", "stop", None, "stop"],
        }
    )
    grades = answers.select("model", "dataset", correct=True, correct_loose=None, score=None)
    grades = grades.with_row_index("item").cast({"item": pl.String, "score": pl.Float64})
    table = accuracy(grades, answers)
    assert table.select("dataset", "n_answers_cut").rows() == [("d", 1), ("e", 0)]


def test_answers_to_versions_of_a_problem_have_an_interval_over_problems() -> None:
    # 3 problems in 2 languages each: 2, 1 and 0 right. 3 of 6 answers, but only 3 problems.
    ids = [version_id(f"{problem}", f"{n}") for problem in range(3) for n in range(2)]
    right = [True, True, True, False, False, False]
    grades = pl.DataFrame({"model": "m", "dataset": "d", "item": ids, "correct": right})
    grades = grades.with_columns(correct_loose=None, score=pl.lit(None, dtype=pl.Float64))
    answers = grades.select("model", "dataset", finish_reason=pl.lit("stop"))
    row = accuracy(grades, answers).row(0, named=True)
    items = Patterns(np.ones(3), np.array([2.0, 2, 2]), np.array([0.0, 1, 2]))
    assert (row["estimate"], row["lower"], row["upper"]) == clustered_rate([items], "micro")[0]
    assert (row["n_items"], row["n_correct"]) == (6, 3)


def test_several_samples_of_an_item_have_an_interval_over_items() -> None:
    # 3 items, 2 samples each: 2, 1 and 0 genuine. 3 of 6 turns, but only 3 items.
    both = verdicts(True, True, True, False, False, False).with_columns(
        item=pl.Series(["0", "0", "1", "1", "2", "2"])
    )
    row = summary(turns("ok", "ok", "ok", "ok", "ok", "ok").with_columns(item=both["item"]), both)
    items = Patterns(np.ones(3), np.array([2.0, 2, 2]), np.array([0.0, 1, 2]))
    (estimate, lower, upper), method = clustered_rate([items], "micro")
    assert (row["estimate"], row["lower"], row["upper"]) == (estimate, lower, upper)
    assert row["interval"] == method == "Wilson over items"
