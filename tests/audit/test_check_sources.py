"""The audit prepares datasets again from the study's own files, and finds others."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.audit.check_sources import check_sources
from userturn.audit.findings import Finding, Note
from userturn.config.load import load_config
from userturn.datasets.fetch import complete
from userturn.datasets.prepare import prepare_dataset
from userturn.study.inputs import FileContents
from userturn.study.record import StudyRecord, study_record

FILE = Path("data/demo/word_problems.jsonl")
PATH = Path("results/datasets/word-problems.parquet")


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyRecord:
    """A project with one dataset, prepared from its file."""
    monkeypatch.chdir(ROOT)
    config = load_config(["config.yaml", "profiles/demo/study.yaml"])
    config["run"] |= {"datasets": ["word-problems"]}
    config |= {"likelihood": False}
    record = study_record(config, FileContents(config))
    (tmp_path / FILE).parent.mkdir(parents=True)
    shutil.copy(FILE, tmp_path / FILE)
    monkeypatch.chdir(tmp_path)
    PATH.parent.mkdir(parents=True)
    entry = record.grid(Path("results")).prepared_datasets["word-problems"]
    prepare_dataset(complete(entry, config["seed"]), "i", PATH)
    return record


def found(record: StudyRecord, broken: frozenset[str] = frozenset()) -> list[Finding | Note]:
    listed = check_sources(Path("results"), record, broken)
    return [item for item in listed if item.artifact == str(PATH)]


def edit(**columns: Any) -> None:
    pl.read_parquet(PATH).with_columns(**columns).write_parquet(PATH)


def test_a_dataset_that_follows_from_its_file_has_no_finding(record: StudyRecord) -> None:
    assert found(record) == []


@pytest.mark.parametrize(
    "columns",
    [
        {"reference_answer": pl.lit("42")},
        {"item": pl.col("item").reverse()},
        {"more": pl.lit(1)},
    ],
)
def test_a_dataset_that_its_file_does_not_give_is_found(
    record: StudyRecord, columns: dict[str, Any]
) -> None:
    edit(**columns)
    (finding,) = found(record)
    assert isinstance(finding, Finding) and finding.check == "sources"


def test_an_item_that_was_dropped_is_found_and_none_is_quoted(record: StudyRecord) -> None:
    table = pl.read_parquet(PATH)
    table[1:].write_parquet(PATH)
    (finding,) = found(record)
    assert isinstance(finding, Finding)
    assert (finding.expected, finding.found) == (
        f"{table.height} rows",
        f"{table.height - 1} rows",
    )


def test_a_file_with_another_content_is_not_the_studys_and_accuses_nobody(
    record: StudyRecord,
) -> None:
    lines = FILE.read_text().splitlines()
    FILE.write_text("\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"answer": "0"})]))
    (note,) = found(record)
    assert isinstance(note, Note) and "not prepared again" in note.text


def test_a_dataset_that_was_already_found_altered_is_not_prepared(record: StudyRecord) -> None:
    edit(reference_answer=pl.lit("42"))
    assert found(record, frozenset({str(PATH)})) == []
