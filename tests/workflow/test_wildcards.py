"""A method of cells and names answers to the wildcards of a job."""

from types import SimpleNamespace

import pytest

from userturn.study.cells import Cell
from userturn.workflow.wildcards import by_wildcards

JOB = SimpleNamespace(model="m", dataset="d", temperature="0", perturbation="none", judge="j")


def test_parameters_are_the_wildcards_of_their_names() -> None:
    def identity(dataset: str, model: str) -> str:
        return f"{model} on {dataset}"

    assert by_wildcards(identity)(JOB) == "m on d"


def test_a_cell_is_made_of_four_wildcards() -> None:
    def verdicts(cell: Cell, judge: str) -> tuple[Cell, str]:
        return cell, judge

    assert by_wildcards(verdicts)(JOB) == (Cell("m", "d", "0", "none"), "j")


def test_the_name_of_a_round_is_the_wildcard_round() -> None:
    def page(round_name: str) -> str:
        return f"{round_name}.html"

    assert by_wildcards(page)(SimpleNamespace(round="first")) == "first.html"


def test_a_parameter_that_is_no_wildcard_is_an_error() -> None:
    def by_shard(shard: str) -> str:
        return shard

    with pytest.raises(AttributeError, match="shard"):
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
