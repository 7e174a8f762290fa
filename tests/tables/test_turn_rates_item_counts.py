"""Items that belong together count as one: turns of a conversation, versions of a problem."""

import polars as pl
import pytest

from userturn.judges.judge import VERDICTS_SCHEMA
from userturn.tables.beside_accuracy import beside_accuracy
from userturn.tables.decoupling import item_association
from userturn.tables.turn_rates import count_answers, count_items

ITEMS = ["a/version/a-de", "a/version/a-en", "b/version/b-de", "b/version/b-en"]
MEMBERS = pl.DataFrame({"model": ["m"], "family": ["f"], "size": [1.0], "active_size": [1.0]})
GRADES = pl.DataFrame(
    {"model": "m", "dataset": "d", "item": ITEMS, "correct": [True, False, None, True]}
)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Return counts of one cell: of problem a the German version is genuine, of b none."""
    path = tmp_path_factory.mktemp("verdicts") / "verdicts.parquet"
    rows = [
        {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none", "judge": "j"}
        | {"item": item, "sample": 0, "genuine": genuine, "label": "x"}
        for item, genuine in zip(ITEMS, (True, False, False, False), strict=True)
    ]
    pl.DataFrame(rows, schema=VERDICTS_SCHEMA).write_parquet(path)
    return count_items([str(path)]).with_columns(family=pl.lit("f")).sort("item")


def test_versions_of_a_problem_are_one_item_with_several_turns(items: pl.DataFrame) -> None:
    assert items.select(
        pl.col("item").cast(pl.String), "n_turns", "n_genuine", pl.col("first_item").cast(pl.String)
    ).rows() == [("a", 2, 1, ITEMS[0]), ("b", 2, 0, ITEMS[2])]


def test_answers_to_versions_of_a_problem_are_one_item_too() -> None:
    counts = count_answers(GRADES)
    assert counts.select("item", "n_turns", "n_scored", "n_genuine", "first").rows() == [
        ("a", 2, 2, 1, True),
        ("b", 2, 1, 1, None),
    ]


def test_a_dataset_without_a_graded_answer_has_no_counts() -> None:
    none = GRADES.with_columns(correct=pl.lit(None, dtype=pl.Boolean))
    assert count_answers(none).is_empty()


def test_the_association_is_of_one_turn_a_problem_and_the_answer_before_it(
    items: pl.DataFrame,
) -> None:
    # a: its German version is genuine after a right answer; b: its German answer is undecided.
    row = item_association(items, GRADES).filter(dataset="d").row(0, named=True)
    names = ("n_right_genuine", "n_right_not", "n_wrong_genuine", "n_wrong_not")
    assert [row[name] for name in names] == [1, 0, 0, 0]


def test_accuracy_stands_beside_the_rate_of_the_same_problems(items: pl.DataFrame) -> None:
    members = MEMBERS.with_columns(base=pl.lit(None, dtype=pl.String))
    row = beside_accuracy(items, GRADES, members).filter(dataset="d").row(0, named=True)
    assert (row["n_graded"], row["accuracy_estimate"]) == (3, 2 / 3)
    assert (row["n_scored"], row["followup_estimate"]) == (4, 1 / 4)
