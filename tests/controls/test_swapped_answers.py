"""Another item's answer stands before a turn: whose, before which turns, and in which order."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from userturn.controls.swapped_answers import (
    EDITED_TURNS_SCHEMA,
    NAMES,
    NOUNS,
    SWAPPED_TURNS_SCHEMA,
    donors,
    edited,
    edited_cells,
    random_order,
    show_unseen_answers,
    stems_from_answer,
    swap_answers,
    swapped_turns,
    unseen_turns,
)
from userturn.judges.heuristic import judge_by_words
from userturn.judges.verdict import GENUINE

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
    order = random_order(list(answers), np.random.default_rng(3))
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
    orders = [random_order(list(names), np.random.default_rng(1)) for names in ("abcdef", "fdbeca")]
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


PROMPT = "How do I keep rice from sticking?"
ANSWER = "Rinse it for 10 minutes. Toast it in oil, as Maria does. The oil seals it."


def test_what_a_turn_takes_up_is_in_the_answer_and_not_in_the_prompt() -> None:
    # rice is in the prompt, butter in neither; oils has the stem of oil.
    assert stems_from_answer(PROMPT, ANSWER, "Which oils, or butter, for the rice?") == ["oil"]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (
            "Which oil?",
            "Rinse it for 10 minutes. Toast it in lantern, as Maria does. The lantern seals it.",
        ),
        (
            "Why 10?",  # and seven more
            "Rinse it for 17 minutes. Toast it in oil, as Maria does. The oil seals it.",
        ),
        (
            "Who is Maria?",
            "Rinse it for 10 minutes. Toast it in oil, as Tamsin does. The oil seals it.",
        ),
        (
            "And rinsing?",  # two words of a kind get two others; a capital stays
            "Tamsin it for 10 minutes. Toast it in oil, as Maria does. The oil seals it.",
        ),
        ("Is the rice white?", None),
    ],
)
def test_a_number_becomes_another_a_name_a_name_and_a_word_a_noun(
    turn: str, expected: str | None
) -> None:
    assert edited(PROMPT, ANSWER, turn) == expected


def test_what_takes_its_place_stands_in_none_of_the_three() -> None:
    prompt = f"Is a {NOUNS[0]} old?"
    found = edited(prompt, "It has oil.", f"And 10 of {NOUNS[1]}, or oil?")
    assert found == f"It has {NOUNS[2]}."


def test_an_answer_in_another_language_is_not_edited() -> None:
    answer = "Der Himmel ist blau, weil die Luft das Licht streut. Das ist nicht schwer."
    assert edited("Warum ist der Himmel blau?", answer, "Welches Licht?") is None


@given(st.text(max_size=60), st.text(max_size=120), st.text(max_size=60))
def test_a_turn_takes_nothing_up_from_an_edited_answer(prompt: str, answer: str, turn: str) -> None:
    found = edited(prompt, answer, turn)
    assert found is None or stems_from_answer(prompt, found, turn) == []


def test_a_judge_that_counts_the_answers_words_flips() -> None:
    settings = {"restated": 0.8, "grounded": 0.1, "repeated": 0.5}
    asked, turn = [{"role": "user", "content": PROMPT}], "How long should I toast it in the oil?"
    assert judge_by_words(asked, ANSWER, turn, settings).label == GENUINE
    other = edited(PROMPT, ANSWER, turn)
    assert other is not None
    assert judge_by_words(asked, other, turn, settings).label != GENUINE


def cell(*rows: tuple[str, str | None, str]) -> pl.DataFrame:
    """Return user turns of a cell, from item, answer and text."""
    turns: list[dict[str, Any]] = [
        {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none", "sample": 0}
        | {"item": item, "answer": answer, "text": text, "outcome": "ok" if text else "empty"}
        for item, answer, text in rows
    ]
    return pl.DataFrame(turns, schema=EDITED_TURNS_SCHEMA)


def test_turns_that_take_something_up_are_drawn_and_fewer_are_part_of_more() -> None:
    items = pl.DataFrame(
        {"item": list("abcd"), "messages": [[{"role": "user", "content": PROMPT}]] * 4}
    )
    turns = cell(
        ("a", ANSWER, "Which oil?"), ("b", ANSWER, ""), ("c", ANSWER, "Thanks!"),
        ("d", ANSWER, "Who is Maria?"),
    )  # fmt: skip
    both = edited_cells("d", [turns], items, 9, 1)
    assert dict(both.select("item", "text").iter_rows()) == {
        "a": "Which oil?",
        "d": "Who is Maria?",
    }
    assert "Maria" not in both["answer"][1] and NAMES[0] in both["answer"][1]
    (one,) = edited_cells("d", [turns], items, 1, 1).rows()
    assert one in both.rows()


def test_a_turn_of_a_control_gets_its_items_own_answer_of_the_same_sample() -> None:
    written = turns(n_samples=2).with_columns(
        answer=pl.format("{} {}", "answer", pl.col("sample").cast(pl.String))
    )
    control = turns(n_samples=2, a="", b="", c="").with_columns(perturbation=pl.lit("no_answer"))
    found = unseen_turns(control, written, 4, ["c", "a", "b"])
    assert dict(found.schema) == EDITED_TURNS_SCHEMA
    shown = found.select("item", "sample", "answer", "perturbation", "text").rows()
    assert shown == [
        ("c", 0, "The sea. 0", "no_answer", "Why c?"),
        ("a", 0, "Light. 0", "no_answer", "Why a?"),
        ("b", 0, "Ada. 0", "no_answer", "Why b?"),
        ("c", 1, "The sea. 1", "no_answer", "Why c?"),
    ]


def test_a_turn_without_an_answer_to_its_item_and_one_never_written_are_left_out() -> None:
    control = turns(a="", b="", c="").with_columns(outcome=pl.Series(["ok", "error", "empty"]))
    own = turns(a=None, b="Ada.", c="The sea.")
    found = unseen_turns(control, own, 9, ["a", "b", "c"])
    assert found.select("item", "outcome").rows() == [("c", "empty")]


def test_each_control_has_the_answers_of_its_own_temperature(tmp_path: Path) -> None:
    paths = []
    for temperature, end in ((0.0, "cool"), (1.0, "warm")):
        own = turns().with_columns(pl.col("answer") + end, temperature=pl.lit(temperature))
        for cell in (own, own.with_columns(perturbation=pl.lit("no_answer"), answer=pl.lit(""))):
            paths.append(str(tmp_path / f"{len(paths)}.parquet"))
            cell.write_parquet(paths[-1])
    pl.DataFrame({"item": ["c", "b", "a"]}).write_parquet(tmp_path / "items.parquet")
    out = str(tmp_path / "out.parquet")
    show_unseen_answers("d", 2, 7, "identity", paths, str(tmp_path / "items.parquet"), out)
    found = pl.read_parquet(out)
    assert set(found["perturbation"]) == {"no_answer"}
    assert found["temperature"].value_counts(sort=True)["count"].to_list() == [2, 2]
    ends = found.select("temperature", pl.col("answer").str.slice(-4)).unique().sort("temperature")
    assert ends.rows() == [(0.0, "cool"), (1.0, "warm")]
