"""A study's cells are logs of Inspect, by Inspect's own schema, and rows that must stay stay.

Inspect itself is no dependency of the tests: it asks for other versions than our locks have.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from tests.workflow.test_export import KEY, mark
from tests.workflow.test_rerun_samples import CELL, change_row
from userturn.cli.main import main
from userturn.errors import UserError
from userturn.export.inspect_logs import write_inspect_logs
from userturn.tables.rates import cell_rates

pytestmark = pytest.mark.slow

SCHEMA = json.loads(Path(__file__).with_name("inspect_log.schema.json").read_text())


def logs_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


@pytest.fixture(scope="module")
def logs(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("inspect") / "logs"
    assert main(["export", str(finished_study / "results"), "--inspect", str(folder)]) == 0
    assert not (finished_study / "results.zip").exists()
    return logs_of(folder)


def test_each_cell_is_a_log_by_inspects_own_schema(logs: list[dict[str, Any]]) -> None:
    assert len(logs) == 4  # two temperatures, two perturbations
    for log in logs:
        assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(log)] == []
    settings = {tuple(log["eval"]["task_args"].values())[2:] for log in logs}
    assert settings == {(t, p) for t in ("0", "1") for p in ("none", "truncate")}


def test_each_turn_is_a_sample_with_its_conversation_and_verdict(
    finished_study: Path, logs: list[dict[str, Any]]
) -> None:
    cell = finished_study / CELL
    wanted = {"temperature": "1", "perturbation": "none"}
    log = next(log for log in logs if wanted.items() <= log["eval"]["task_args"].items())
    turns = pl.read_parquet(cell / "user_turns.parquet").to_dicts()
    verdicts = pl.read_parquet(cell / "verdicts" / "heuristic.parquet").to_dicts()
    assert len(log["samples"]) == len(turns) == 5
    for sample, turn, verdict in zip(log["samples"], turns, verdicts, strict=True):
        assert (sample["id"], sample["epoch"]) == (turn["item"], turn["sample"] + 1)
        assert sample["output"]["completion"] == turn["text"]
        assert [said["role"] for said in sample["messages"]] == ["user", "assistant", "user"]
        assert sample["messages"][1]["content"] == turn["answer"]
        if verdict["label"] is None:
            assert sample["scores"] == {}
        else:
            assert sample["scores"]["heuristic"]["answer"] == verdict["label"]
            assert sample["scores"]["heuristic"]["value"] == int(verdict["genuine"])
    rates = pl.read_parquet(finished_study / "results/tables/rates.parquet")
    is_cell = (pl.col("temperature") == 1) & (pl.col("perturbation") == "none")
    by_words = cell_rates(rates).filter(pl.col("judge") == "heuristic")
    rate = by_words.row(by_predicate=is_cell, named=True)
    metrics = log["results"]["scores"][0]["metrics"]
    assert metrics["mean"]["value"] == rate["estimate"]
    assert metrics["lower"]["value"] == rate["lower"]


def test_every_sample_has_a_name_of_its_own_also_one_that_was_never_asked(
    study: Path, tmp_path: Path
) -> None:
    for row in (0, 1):
        change_row(study / CELL / "user_turns.parquet", row, key=None)
    write_inspect_logs(study / "results", tmp_path / "logs")
    names = [sample["uuid"] for log in logs_of(tmp_path / "logs") for sample in log["samples"]]
    assert len(set(names)) == len(names) == 20  # four cells of five items


def test_private_rows_are_in_no_log(study: Path, tmp_path: Path) -> None:
    mark(study, private=True)
    said = write_inspect_logs(study / "results", tmp_path / "logs").said
    assert "0 logs, one for each cell, 4 cells left out" in said
    assert list((tmp_path / "logs").iterdir()) == []


def test_a_secret_is_refused_and_nothing_is_written(study: Path, tmp_path: Path) -> None:
    change_row(study / CELL / "user_turns.parquet", 0, text=f"my key is {KEY}")
    with pytest.raises(UserError, match="5 likely secrets; the first is in "):
        write_inspect_logs(study / "results", tmp_path / "logs")
    assert list(tmp_path.glob("logs*")) == []
