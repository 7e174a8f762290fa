"""The two turns on the first screen are drawn by a hash, one of each kind."""

from pathlib import Path

import polars as pl

from tests.report.test_build import known
from tests.support.made_up_results import build, made_up_config, write_results
from userturn.report.explorer import examples_of_cell, first_of_each_kind
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
