"""Which tables a study has: all of the registry, but for those that do not apply to it."""

from inspect import signature
from types import SimpleNamespace
from typing import Any

import pytest

from userturn.workflow.registry import IDENTITIES, TABLES
from userturn.workflow.table_inputs import INPUTS
from userturn.workflow.tables import TableGrid


def tables_of(trained: list[str]) -> TableGrid:
    """Return the tables of a study that trains some models; nothing else of it is asked."""
    stages: dict[str, Any] = dict.fromkeys(signature(TableGrid).parameters)
    tables = TableGrid(**stages | {"training": SimpleNamespace(models=trained)})
    tables.likelihood = SimpleNamespace(scores=["a file"])  # type: ignore[assignment]
    tables.by_turn = SimpleNamespace(cells=["a cell"])  # type: ignore[assignment]
    tables.languages = SimpleNamespace(cells=["a cell"])  # type: ignore[assignment]
    tables.candidates = SimpleNamespace(turns=["a table"])  # type: ignore[assignment]
    tables.self_play = SimpleNamespace(depths=["a depth"])  # type: ignore[assignment]
    tables.pairs = SimpleNamespace(rounds=["a round"])  # type: ignore[assignment]
    return tables


@pytest.mark.parametrize(("trained", "missing"), [([], {"training_overlap"}), (["a-sft"], set())])
def test_overlap_with_training_data_is_a_table_where_a_model_is_trained(
    trained: list[str], missing: set[str]
) -> None:
    assert TABLES.keys() - set(tables_of(trained).names) == missing


def test_rules_are_those_of_the_tables_that_apply() -> None:
    assert set(tables_of(["a-sft"]).rules) - set(tables_of([]).rules) == {
        "measure_training_overlap"
    }


def test_every_rule_that_makes_tables_has_inputs_and_an_identity() -> None:
    rules = {table.rule for table in TABLES.values()}
    assert rules == INPUTS.keys()
    assert rules <= IDENTITIES.keys()


def test_costs_are_counted_after_every_reply_that_costs() -> None:
    tables = tables_of([])
    items = ["results/datasets/talks.parquet"]
    tables.controls = SimpleNamespace(  # type: ignore[assignment]
        verdicts=["of planted turns"], human_items=items
    )
    tables.labelled = SimpleNamespace(verdicts=["of labelled turns"])  # type: ignore[assignment]
    paths = {path for given in tables.inputs_of("tabulate_costs").values() for path in given}
    made = ("rates", "accuracy", "chance_floor", "likelihood", "self_play", "answer_signals")
    assert paths == {
        *(f"results/tables/{name}.parquet" for name in made),
        *("of planted turns", "of labelled turns", "results/datasets/talks.parquet"),
    }
