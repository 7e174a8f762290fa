"""Another item's answer stands before a turn: whose, before which turns, and in which order."""

from pathlib import Path

import numpy as np
import polars as pl

from userturn.controls.swapped_answers import (
    SWAPPED_TURNS_SCHEMA,
    donors,
    drawn_order,
    swap_answers,
    swapped_turns,
)

ANSWERS = {"a": "Light.", "b": "Ada.", "c": "The sea."}


def turns(n_samples: int = 1, **answers: str | None) -> pl.DataFrame:
    given = answers or ANSWERS
    rows = [
        {
            "model": "m",
            "dataset": "d",
            "temperature": 0.5,
            "perturbation": "none",
            "item": item,
            "sample": sample,
            "key": f"{item}{sample}",
            "answer": answer,
            "outcome": "ok",
            "text": f"Why {item}?",
        }
        for item, answer in given.items()
        for sample in range(n_samples)
    ]
    schema = {k: v for k, v in SWAPPED_TURNS_SCHEMA.items() if k != "answer_from"}
    return pl.DataFrame(rows, schema=schema)


def test_each_item_has_the_answer_of_the_next_and_the_last_that_of_the_first() -> None:
    assert donors(ANSWERS, ["b", "a", "c"]) == {"b": "a", "a": "c", "c": "b"}


def test_no_item_keeps_its_own_answer_and_each_answer_is_given_once() -> None:
    answers = {str(i): f"answer {i}" for i in range(50)}
    order = drawn_order(list(answers), np.random.default_rng(3))
    given = donors(answers, order)
    assert sorted(given) == sorted(given.values()) == sorted(answers)
    assert all(item != donor for item, donor in given.items())


def test_an_equal_answer_is_passed_over() -> None:
    assert donors({"a": "8", "b": "8", "c": "9"}, ["a", "b", "c"]) == {"a": "c", "b": "c", "c": "a"}


def test_items_without_an_answer_give_and_take_none() -> None:
    assert donors({"a": "1", "c": "2"}, ["a", "b", "c"]) == {"a": "c", "c": "a"}


def test_nothing_is_given_where_all_answers_are_equal() -> None:
    assert donors({"a": "8", "b": "8"}, ["a", "b"]) == {}
    assert swapped_turns(turns(a="8", b="8"), 9, ["a", "b"]).is_empty()


def test_the_drawn_order_does_not_depend_on_the_order_of_the_items() -> None:
    orders = [drawn_order(list(names), np.random.default_rng(1)) for names in ("abcdef", "fdbeca")]
    assert orders[0] == orders[1] != sorted(orders[0])


def test_a_swapped_turn_is_the_turn_with_another_answer_and_its_source() -> None:
    found = swapped_turns(turns(), 9, ["a", "b", "c"])
    shown = found.select("item", "answer", "answer_from", "text", "key").rows()
    assert shown == [
        ("a", "Ada.", "b", "Why a?", "a0"),
        ("b", "The sea.", "c", "Why b?", "b0"),
        ("c", "Light.", "a", "Why c?", "c0"),
    ]


def test_first_samples_of_all_items_come_before_any_second() -> None:
    found = swapped_turns(turns(n_samples=2), 4, ["c", "a", "b"])
    assert found.select("item", "sample").rows() == [("c", 0), ("a", 0), ("b", 0), ("c", 1)]


def test_turns_that_were_never_written_are_left_out_and_empty_ones_stay() -> None:
    outcomes = pl.Series("outcome", ["error", "empty", "ok"])
    found = swapped_turns(turns().with_columns(outcomes), 9, ["a", "b", "c"])
    assert found.select("item", "outcome").rows() == [("b", "empty"), ("c", "ok")]
    assert set(found["answer_from"]) == {"b", "c"}


def test_cells_of_a_dataset_have_the_same_items_and_donors_in_every_process(tmp_path: Path) -> None:
    cool, warm = turns(), turns().with_columns(temperature=1.0)
    pl.DataFrame({"item": ["c", "b", "a"]}).write_parquet(tmp_path / "items.parquet")
    paths = []
    for number, cell in enumerate((warm, cool)):
        paths.append(str(tmp_path / f"{number}.parquet"))
        cell.write_parquet(paths[-1])
    written = []
    for name, order in (("x", paths), ("y", paths[::-1])):
        out = str(tmp_path / name)
        swap_answers("d", 2, 7, "identity", order, str(tmp_path / "items.parquet"), out)
        written.append(Path(out).read_bytes())
    assert written[0] == written[1]
    table = pl.read_parquet(tmp_path / "x")
    pairs = [
        cell.select("item", "answer_from").rows()
        for cell in table.partition_by("temperature", maintain_order=True)
    ]
    assert len(pairs) == 2
    assert len(pairs[0]) == 2
    assert pairs[0] == pairs[1]
