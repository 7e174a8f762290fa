"""Rates after each turn of conversations, and conversations as the clusters of every interval."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.support.paired_counts import newcombe
from userturn.controls.swapped_answers import donors
from userturn.generation.plan_files import next_in_hash_order
from userturn.judges.judge import VERDICTS_SCHEMA
from userturn.stats.proportions import Patterns, clustered_rate, wilson
from userturn.tables.contrast_tests import compare
from userturn.tables.parts_of_cells import BY_TURN, group_by_turn, rates_of_parts, since_the_first
from userturn.tables.rates import cell_rates, outcomes_of, rates
from userturn.tables.turn_rates import count_items, count_verdicts

CELL = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none", "judge": "j"}
MEMBERS = pl.DataFrame({"model": ["m"], "family": ["f"]})


def verdicts(**turns: list[bool | None]) -> pl.DataFrame:
    """Verdicts on the turns 1, 2, … of some conversations."""
    rows = [
        CELL | {"item": f"{name}/turn-{k}", "sample": 0, "genuine": genuine, "label": "x"}
        for name, values in turns.items()
        for k, genuine in enumerate(values, start=1)
    ]
    return pl.DataFrame(rows, schema_overrides={"genuine": pl.Boolean})


def test_each_turn_has_the_rate_of_the_conversations_that_have_it() -> None:
    turns = verdicts(a=[True, False, True], b=[False, False], c=[True, None], d=[True])
    found = rates_of_parts(group_by_turn(turns), MEMBERS, BY_TURN)
    counts = found.select("group", "n_items", "n_scored", "n_positive").rows()
    assert counts == [("1", 4, 4, 3), ("2", 3, 2, 0), ("3", 1, 1, 1)]
    assert found["estimate"].to_list() == [3 / 4, 0, 1]
    # One turn of each conversation: Wilson's own limits.
    assert found.row(0, named=True)["lower"] == pytest.approx(wilson(3, 4).lower)


def test_turns_that_are_arguably_genuine_count_in_the_lenient_rate_alone() -> None:
    labels = ["genuine_followup", "arguable_followup", "generic", None]
    of = [label == "genuine_followup" if label else None for label in labels]
    turns = verdicts(a=of[:1], b=of[1:2], c=of[2:3], d=of[3:])
    turns = turns.with_columns(label=pl.Series(labels))
    (row,) = rates_of_parts(group_by_turn(turns), MEMBERS, BY_TURN).to_dicts()
    assert (row["estimate"], row["lenient"]) == (1 / 3, 2 / 3)
    assert row["lenient_upper"] == pytest.approx(wilson(2, 3).upper)


def test_the_change_since_the_first_turn_is_over_conversations_scored_after_both() -> None:
    # 1 genuine after both, 2 after the first alone, 1 after the second alone, 1 after neither;
    # f was never scored after its second turn, g has none.
    both = {"a": [True, True], "b": [True, False], "c": [True, False], "d": [False, True]}
    turns = verdicts(**both, e=[False, False], f=[True, None], g=[True])
    table = compare(since_the_first(turns.join(MEMBERS, on="model")))
    (row,) = table.filter(scope="model and dataset").to_dicts()
    assert (row["baseline"], row["condition"], row["n_items"]) == ("1", "2", 5)
    assert (row["rate_baseline"], row["rate_condition"]) == (3 / 5, 2 / 5)
    expected = newcombe(1, 2, 1, 1)
    found = row["difference"], row["lower"], row["upper"]
    assert found == pytest.approx(tuple(map(float, expected)))


def test_turns_are_compared_with_the_first_turn_of_their_own_dataset() -> None:
    early = verdicts(a=[True, False], b=[True, True])
    late = early.with_columns(
        dataset=pl.lit("late"), item=pl.col("item").str.replace("turn-2", "turn-3")
    ).with_columns(item=pl.col("item").str.replace("turn-1", "turn-2"))
    table = compare(since_the_first(pl.concat([early, late]).join(MEMBERS, on="model")))
    found = table.filter(scope="model and dataset").sort("dataset")
    assert found.select("dataset", "baseline", "condition", "difference").rows() == [
        ("d", "1", "2", -0.5),
        ("late", "2", "3", -0.5),
    ]


def test_a_cell_has_one_interval_clustered_by_conversation(tmp_path: Path) -> None:
    table = verdicts(a=[True, True, True], b=[False, False, False], c=[True, False, True])
    turns = table.with_columns(outcome=pl.lit("ok"), finish_reason=pl.lit("stop"))
    reasons = table.with_columns(unscored_reason=pl.lit(None, dtype=pl.String))
    items = count_verdicts(table.lazy(), []).with_columns(family=pl.lit("f"))
    outcomes = outcomes_of(turns.lazy(), reasons.lazy(), turns)
    row = cell_rates(rates(items, outcomes)).row(0, named=True)
    # 3 conversations of 3 turns with 3, 0 and 2 genuine.
    seen = Patterns(np.ones(3), np.full(3, 3.0), np.array([0.0, 2.0, 3.0]))
    interval, method = clustered_rate([seen], "micro")
    assert (row["n_items"], row["n_turns"], row["n_positive"]) == (3, 9, 5)
    assert (row["lower"], row["upper"]) == pytest.approx((interval.lower, interval.upper))
    assert row["interval"] == method
    assert row["upper"] - row["lower"] > wilson(5, 9).upper - wilson(5, 9).lower


def test_counts_that_all_tables_start_from_are_of_conversations(tmp_path: Path) -> None:
    table = verdicts(a=[True, False, None], b=[None, True])
    path = tmp_path / "verdicts.parquet"
    missing = [name for name in VERDICTS_SCHEMA if name not in table.columns]
    whole = table.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in missing)
    whole.select(list(VERDICTS_SCHEMA)).write_parquet(path)
    found = count_items([str(path)]).sort(pl.col("item").cast(pl.String))
    counts = found.select(pl.col("item").cast(pl.String), "n_turns", "n_scored", "n_genuine")
    assert counts.rows() == [("a", 3, 2, 1), ("b", 2, 1, 1)]
    assert found["first"].to_list() == [True, None]  # after the first turn of each


def test_no_item_lends_its_answer_to_its_own_conversation() -> None:
    items = [f"{name}/turn-{k}" for name in "abc" for k in (1, 2, 3)]
    for given in (
        next_in_hash_order(items),
        donors({item: f"answer to {item}" for item in items}, items),
    ):
        assert set(given) == set(items)
        assert all(item[0] != donor[0] for item, donor in given.items())
    assert next_in_hash_order(items[:3]) == {}
    assert donors({item: item for item in items[:3]}, items[:3]) == {}
