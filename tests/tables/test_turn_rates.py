"""Turns of one item or conversation are one cluster, counted and in every interval."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tests.support.synthetic_study import write_study
from userturn.judges.judge import VERDICTS_SCHEMA
from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import wilson
from userturn.storage.table_files import TURN_KEYS
from userturn.tables.beside_accuracy import accuracy_and_follow_ups
from userturn.tables.decoupling import item_association
from userturn.tables.judge_card import judge_card
from userturn.tables.known_turns import add_kinds, control_verdicts, turns_of
from userturn.tables.make_tables import Material
from userturn.tables.rates import cell_rates, model_rates, outcomes_of, rates
from userturn.tables.turn_rates import count_answers, count_items, rate_over

LIMITS = ["estimate", "lower", "upper"]


def turns(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame(columns, schema_overrides={"genuine": pl.Boolean})


def test_conversations_of_one_turn_have_wilsons_limits() -> None:
    found, method = rate_over(turns(c=["a", "b", "c", "d"], genuine=[True, True, True, False]), "c")
    assert method == "Wilson"
    assert found == wilson(3, 4)


def test_two_conversations_of_two_equal_turns_are_worth_two_turns() -> None:
    # y = 2, 0 of m = 2: with half a conversation of either kind 6 turns at 1/2; the variance over
    # conversations is 1 + 1 + 4 (1/4 + 1/4) / 2 = 3, over turns 6 / 4: an effect of 2.
    found, _ = rate_over(turns(c=["a", "a", "b", "b"], genuine=[True, True, False, False]), "c")
    assert found.estimate == 0.5
    assert (found.lower, found.upper) == pytest.approx(wilson(1, 2)[1:])


def test_human_replies_of_one_tree_are_one_conversation(tmp_path: Path) -> None:
    missing = dict.fromkeys(VERDICTS_SCHEMA)
    human = missing | {"model": "human", "dataset": "d", "perturbation": "human", "judge": "j"}
    planted = human | {"model": "m", "perturbation": "thanks"}
    rows = [human | {"item": name} for name in "abc"] + [planted | {"item": "a"}]
    verdicts = pl.DataFrame(rows, schema=VERDICTS_SCHEMA).with_columns(
        label=pl.lit("generic"), genuine=pl.lit(False)
    )
    items = {"item": ["a", "b", "c"], "messages": [messages("hi"), messages("hi"), messages("ho")]}
    verdicts.write_parquet(tmp_path / "v.parquet")
    pl.DataFrame(items).write_parquet(tmp_path / "d.parquet")
    paths = {"control_verdicts": ["v.parquet"], "human_items": ["d.parquet"]}
    there = {name: [str(tmp_path / path) for path in found] for name, found in paths.items()}
    grid: Any = SimpleNamespace(config={"seed": 1, "statistics": {"resamples": 100}})
    table = judge_card(add_kinds(control_verdicts(Material(grid, there))), 1)
    counted = table.filter(by="kind", measure="right side")
    both = counted.select("group", "n_turns", "n_conversations")
    assert both.rows() == [("human", 3, 2), ("thanks", 1, 1)]


def messages(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_seven_injections_into_one_item_are_no_seven_draws() -> None:
    alike = turns(judge="j", c=[*"aaaaaaa", *"bbbbbbb"], label=[GENUINE] * 7 + ["generic"] * 7)
    known = {"cluster": pl.col("c"), "truth": pl.lit("generic"), "kind": pl.lit("injected_reply")}
    card = judge_card(turns_of(alike, source=pl.lit("injected"), **known), 1)
    (row,) = card.filter(by="all", measure="specificity").to_dicts()
    # As above: an effect of 7 turns an item, so two draws.
    assert (row["n_scored"], row["estimate"]) == (14, 0.5)
    assert (row["lower"], row["upper"]) == pytest.approx(wilson(1, 2)[1:])


def test_a_cell_has_one_interval_in_all_tables(tmp_path: Path) -> None:
    paths, _ = write_study(
        tmp_path, ["m"], {"d": 30}, (0.7,), ("none",), judges=("j",), n_samples=3
    )
    verdicts = pl.read_parquet(paths[0])
    user_turns = verdicts.select(TURN_KEYS).with_columns(
        key=pl.col("item"), outcome=pl.lit("ok"), finish_reason=pl.lit("stop")
    )
    answers = user_turns.select("model", "dataset", "finish_reason")
    items = count_items(paths).with_columns(family=pl.lit("f"))
    found = rates(items, outcomes_of(user_turns.lazy(), verdicts.lazy(), answers))
    of_cell, pooled = cell_rates(found), model_rates(found)
    assert of_cell.select(LIMITS).row(0) == pooled.select(LIMITS).row(0)
    assert of_cell["interval"][0] == "Wilson over items"


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
    row = accuracy_and_follow_ups(items, GRADES, members).filter(dataset="d").row(0, named=True)
    assert (row["n_graded"], row["accuracy_estimate"]) == (3, 2 / 3)
    assert (row["n_scored"], row["followup_estimate"]) == (4, 1 / 4)
