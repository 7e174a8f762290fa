"""The two turns on the first screen are drawn by a hash, and pairs of labels are counted."""

from pathlib import Path
from typing import Any

import polars as pl

from tests.report.test_build import known
from tests.support.made_up_results import build, made_up_config, write_results
from userturn.report.explorer import (
    examples_of_cell,
    first_of_each_kind,
    label_pairs,
    most_frequent,
)
from userturn.study.grid import Grid


def turns(labels: list[str | None], texts: list[str | None] | None = None) -> pl.DataFrame:
    n = len(labels)
    return pl.DataFrame(
        {
            "item": [f"item-{i}" for i in range(n)],
            "sample": [0] * n,
            "key": [f"key-{i}" for i in range(n)],
            "text": texts or ["a turn"] * n,
            "label_0": labels,
        },
        schema_overrides={"label_0": pl.String, "text": pl.String},
    )


def test_one_example_of_each_kind_is_drawn_whatever_the_order_of_the_turns() -> None:
    table = turns(["genuine_followup", "generic"] * 20)
    drawn = examples_of_cell(3, table, 0)
    assert [(example["cell"], example["is_genuine"]) for example in drawn] == [
        (3, True),
        (3, False),
    ]
    assert examples_of_cell(3, table.reverse(), 0) == drawn


def test_unscored_and_empty_turns_are_no_examples() -> None:
    drawn = examples_of_cell(0, turns([None, "generic", "generic"], ["said", " \n", None]), 0)
    assert drawn == []


def test_a_study_without_genuine_turns_has_one_example() -> None:
    drawn = [
        *examples_of_cell(0, turns(["generic"]), 0),
        *examples_of_cell(1, turns(["unrelated"]), 0),
    ]
    assert [example["is_genuine"] for example in first_of_each_kind(drawn)] == [False]
    assert first_of_each_kind(drawn) == first_of_each_kind(reversed(drawn))


def test_examples_are_unperturbed_and_of_no_private_dataset(tmp_path: Path) -> None:
    config = made_up_config(["a-1b"], ["healthbench", "open"])
    grid = Grid(config, tmp_path)
    write_results(grid, 40)
    drawn = [grid.cells[example["cell"]] for example in known(build(grid))["examples"]]
    assert len(drawn) == 2
    assert {(cell.dataset, cell.perturbation) for cell in drawn} == {("open", "none")}


def row(first: int, second: int, *people: int) -> list[Any]:
    """Return a row of the explorer with labels of two judges and of people."""
    verdicts = [[label, None, None] for label in (first, second)]
    return [None] * 8 + [verdicts, [["person", label, None] for label in people]]


def test_people_count_by_the_label_that_most_of_them_gave() -> None:
    assert most_frequent([3, 1, 3]) == 3
    assert most_frequent([3, 1]) == -1
    assert most_frequent([]) == -1


def test_turns_are_counted_where_both_raters_gave_a_label() -> None:
    rows = [row(0, 3), row(0, 3, 4, 4, 0), row(-1, 3), row(0, 0, 0, 4)]
    # judges 0 and 1: twice (0, 3), once (0, 0); people are rater 2: 4 in the second row, else none
    assert label_pairs(rows) == [[0, 1, 0, 0, 1], [0, 1, 0, 3, 2], [0, 2, 0, 4, 1], [1, 2, 3, 4, 1]]
