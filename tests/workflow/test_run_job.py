"""A method of cells and names answers to the wildcards of a job."""

from collections.abc import Callable
from typing import Any

import pytest

from userturn.study.cells import Cell
from userturn.workflow.run_job import by_wildcards

CELL = Cell("m", "d", "0", "none")
JOB = {**CELL._asdict(), "judge": "j", "round": "first"}


def of_names(dataset: str, model: str) -> tuple[str, str]:
    return dataset, model


def of_a_cell(cell: Cell, judge: str) -> tuple[Cell, str]:
    return cell, judge


def of_a_round(round_name: str) -> str:
    return round_name


@pytest.mark.parametrize(
    ("method", "given"), [(of_names, ("d", "m")), (of_a_cell, (CELL, "j")), (of_a_round, "first")]
)
def test_parameters_are_the_wildcards_of_their_names_a_cell_and_a_round(
    method: Callable[..., Any], given: Any
) -> None:
    assert by_wildcards(method)(JOB) == given


def test_a_parameter_that_is_no_wildcard_is_an_error() -> None:
    def by_shard(shard: str) -> str:
        return shard

    with pytest.raises(KeyError, match="shard"):
        by_wildcards(by_shard)(JOB)


def test_a_path_that_names_what_the_study_has_not_is_told_so() -> None:
    def identity(cell: Cell, judge: str) -> str:
        return {(cell._replace(model="n"), judge): "found"}[cell, judge]

    with pytest.raises(
        SystemExit, match=r"^error: .* all of these names: 0, d, j, m, none; correct"
    ):
        by_wildcards(identity)(JOB)


def test_what_no_path_names_is_a_fault_of_the_code() -> None:
    def identity(model: str) -> str:
        return {model: {}}[model]["version"]

    with pytest.raises(KeyError, match="version"):
        by_wildcards(identity)(JOB)
