"""A study's cells are records of Every Eval Ever, by its own schemas and its datastore's rules.

Its package asks for Python 3.12. Its validator, 0.3.0, found no error and gave no warning on the 4
cells of the study of these tests (docs/export.md); what it asks beyond the schemas is asked here.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from tests.workflow.test_export import KEY, mark
from tests.workflow.test_rerun_samples import CELL, change_row
from userturn.calibration.calibrate import calibrate, labelled_rows
from userturn.calibration.judged_rows import Columns
from userturn.cli.main import main
from userturn.errors import UserError
from userturn.export.every_eval_ever import write_every_eval_ever

pytestmark = pytest.mark.slow

HERE = Path(__file__)
SCHEMA, ROWS = (
    Draft202012Validator(json.loads(HERE.with_name(f"every_eval_ever{name}.json").read_text()))
    for name in (".schema", "_rows.schema")
)
NAME = (
    r"data/userturn/local/tiny/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)


@pytest.fixture(scope="module")
def records(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("every") / "records"
    results = str(finished_study / "results")
    assert main(["export", results, "--every-eval-ever", str(folder)]) == 0
    return folder


def logs_of(folder: Path) -> dict[str, dict[str, Any]]:
    found = sorted(folder.rglob("*.json"))
    return {path.relative_to(folder).as_posix(): json.loads(path.read_text()) for path in found}


def rows_of(folder: Path, log: dict[str, Any]) -> list[dict[str, Any]]:
    path = folder / log["detailed_evaluation_results"]["file_path"]
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_cell_is_a_record_without_an_error_of_the_schemas(records: Path) -> None:
    logs = logs_of(records)
    assert len(logs) == 4  # two temperatures, two perturbations
    for log in logs.values():
        assert [error.message for error in SCHEMA.iter_errors(log)] == []
        for row in rows_of(records, log):
            assert [error.message for error in ROWS.iter_errors(row)] == []


def test_files_stand_and_point_to_each_other_as_the_datastore_asks(records: Path) -> None:
    for path, log in logs_of(records).items():
        assert re.fullmatch(NAME + r"\.json", path)
        details, rows = log["detailed_evaluation_results"], rows_of(records, log)
        assert details["file_path"] == path.removesuffix(".json") + "_samples.jsonl"
        content = (records / details["file_path"]).read_bytes()
        assert details["checksum"] == hashlib.sha256(content).hexdigest()
        assert details["total_rows"] == len(rows)
        assert {row["evaluation_id"] for row in rows} == {log["evaluation_id"]}
        assert {row["model_id"] for row in rows} == {log["model_info"]["id"]} == {"local/tiny"}
    assert len({log["evaluation_id"] for log in logs_of(records).values()}) == 4


def test_scores_are_the_rates_of_the_study_with_their_limits(
    finished_study: Path, records: Path
) -> None:
    rates = pl.read_parquet(finished_study / "results/tables/rates.parquet")
    cells = rates.filter(scope="cell", label="genuine_followup")
    told = []
    for log in logs_of(records).values():
        (result,) = log["evaluation_results"]
        score = result["score_details"]
        limits = score["uncertainty"]["confidence_interval"]
        told.append((score["score"], limits["lower"], limits["upper"]))
        assert "Not a finding" in score["details"]["warning"]
        rows = [row["evaluation"]["score"] for row in rows_of(records, log)]
        assert score["score"] == sum(rows) / len(rows)
    assert sorted(told) == sorted(cells.select("estimate", "lower", "upper").rows())


def test_calibrate_reads_what_was_written(records: Path, tmp_path: Path) -> None:
    log = next(iter(logs_of(records).values()))
    rows = rows_of(records, log)
    labels = [f"{row['sample_id']},{row['metadata']['sample']},1" for row in rows]
    (tmp_path / "labels.csv").write_text("\n".join(["sample_id,sample,label", *labels]))
    paths = [records / log["detailed_evaluation_results"]["file_path"]]
    table = calibrate(labelled_rows(paths, tmp_path / "labels.csv", Columns()))
    rate = table.filter(measure="rate by the judge").row(0, named=True)
    assert (rate["judge"], rate["model"], rate["n_rows"]) == ("heuristic", "local/tiny", len(rows))
    assert rate["estimate"] == log["evaluation_results"][0]["score_details"]["score"]


def test_equal_studies_give_equal_bytes(
    finished_study: Path, records: Path, tmp_path: Path
) -> None:
    write_every_eval_ever(finished_study / "results", tmp_path / "again", None)
    again = {path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*.jsonl")}
    assert again
    for path in again:
        assert (tmp_path / "again" / path).read_bytes() == (records / path).read_bytes()


def test_private_rows_are_in_no_file_and_results_are(study: Path, tmp_path: Path) -> None:
    mark(study, private=True)
    said = write_every_eval_ever(study / "results", tmp_path / "records", None).said
    assert "results of 4 cells, 4 without rows" in said
    assert list((tmp_path / "records").rglob("*.jsonl")) == []
    logs = logs_of(tmp_path / "records").values()
    assert len(logs) == 4 and not any("detailed_evaluation_results" in log for log in logs)


def test_a_secret_is_refused_and_nothing_is_written(study: Path, tmp_path: Path) -> None:
    change_row(study / CELL / "user_turns.parquet", 1, text=f"my key is {KEY}")  # a scored one
    with pytest.raises(UserError, match="likely secret"):
        write_every_eval_ever(study / "results", tmp_path / "records", None)
    assert list(tmp_path.glob("records*")) == []
