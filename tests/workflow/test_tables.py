"""Which tables a study has: all of the registry, but for those that do not apply to it."""

from inspect import signature
from types import SimpleNamespace
from typing import Any

import pytest

from userturn.workflow.jobs import JOBS
from userturn.workflow.registry import FIGURES, TABLES
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


def test_every_rule_that_makes_tables_or_figures_is_a_job_with_an_identity() -> None:
    rules = {one.rule for one in (*TABLES.values(), *FIGURES.values())}
    assert {rule for rule in rules if "identity" not in JOBS[rule].params} == set()


def test_costs_are_counted_after_every_reply_that_costs() -> None:
    made = ("likelihood", "self_play", "answer_signals")
    assert tables_of([]).made_of_replies == [f"results/tables/{name}.parquet" for name in made]
    asked = {f"results/tables/{name}.parquet" for name in ("rates", "accuracy", "chance_floor")}
    asked |= {"study.tables.made_of_replies", "study.controls.verdicts", "study.labelled.verdicts"}
    assert asked <= set(JOBS["tabulate_costs"].inputs.values())
