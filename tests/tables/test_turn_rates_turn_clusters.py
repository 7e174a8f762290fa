"""Turns of one item or conversation are kept together, by the same formula in every table."""

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
from userturn.tables.judge_card import judge_card
from userturn.tables.known_turns import beside_kinds, control_verdicts, turns_of
from userturn.tables.make_tables import Material
from userturn.tables.rates import of_cells, of_models, outcomes_of, rates
from userturn.tables.turn_rates import count_items, rate_over

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
    table = judge_card(beside_kinds(control_verdicts(Material(grid, there))), 1)
    counted = table.filter(pl.col("by") == "kind", pl.col("measure") == "right side")
    both = counted.select("group", "n_turns", "n_conversations")
    assert both.rows() == [("human", 3, 2), ("thanks", 1, 1)]


def messages(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_seven_injections_into_one_item_are_no_seven_draws() -> None:
    alike = turns(judge="j", c=[*"aaaaaaa", *"bbbbbbb"], label=[GENUINE] * 7 + ["generic"] * 7)
    known = {"cluster": pl.col("c"), "truth": pl.lit("generic"), "kind": pl.lit("injected_reply")}
    card = judge_card(turns_of(alike, source=pl.lit("injected"), **known), 1)
    (row,) = card.filter(pl.col("by") == "all", pl.col("measure") == "specificity").to_dicts()
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
    of_cell, pooled = of_cells(found), of_models(found)
    assert of_cell.select(LIMITS).row(0) == pooled.select(LIMITS).row(0)
    assert of_cell["interval"][0] == "Wilson over items"
