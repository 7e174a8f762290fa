"""The audit prepares datasets again from the study's own files, and finds others."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.findings_of import said_of
from tests.support.snakemake_runs import ROOT
from userturn.audit.check_sources import check_sources
from userturn.audit.findings import Finding, Item, Note, Status
from userturn.config.load import load_config
from userturn.datasets.fetch import complete
from userturn.datasets.prepare import prepare_dataset
from userturn.models.model_files import files_of_folder
from userturn.study.contents import FileContents
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
    entry = config["datasets"]["word-problems"]
    (tmp_path / FILE).parent.mkdir(parents=True)
    for file in (FILE, entry["instruction"]):
        shutil.copy(file, tmp_path / file)
    monkeypatch.chdir(tmp_path)
    PATH.parent.mkdir(parents=True)
    entry = record.grid(Path("results")).prepared_datasets["word-problems"]
    prepare_dataset(complete(entry, config), "i", PATH)
    return record


def found(record: StudyRecord, broken: frozenset[str] = frozenset()) -> list[Item]:
    listed = said_of(check_sources(Path("results"), record, broken))
    return [item for item in listed if item.artifact == str(PATH)]


def edit(**columns: Any) -> None:
    pl.read_parquet(PATH).with_columns(**columns).write_parquet(PATH)


def test_a_dataset_that_follows_from_its_file_has_no_finding(record: StudyRecord) -> None:
    assert found(record) == []


@pytest.mark.parametrize(
    "columns",
    [{"reference_answer": pl.lit("42")}, {"item": pl.col("item").reverse()}, {"more": pl.lit(1)}],
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
    assert (finding.expected, finding.found) == (f"{table.height} rows", f"{table.height - 1} rows")


def test_a_file_with_another_content_is_not_the_studys_and_accuses_nobody(
    record: StudyRecord,
) -> None:
    lines = FILE.read_text().splitlines()
    FILE.write_text("\n".join([*lines[:-1], json.dumps(json.loads(lines[-1]) | {"answer": "0"})]))
    (note,) = found(record)
    assert isinstance(note, Status) and "its file with the study's content" in note.why


def test_a_dataset_that_was_already_found_altered_is_not_prepared(record: StudyRecord) -> None:
    edit(reference_answer=pl.lit("42"))
    assert found(record, frozenset({str(PATH)})) == []


MODEL = Path("results/models/smollm2-135m.json")


def of_model(record: StudyRecord, **described: Any) -> list[Item]:
    """Return what is said of a model that was described so."""
    MODEL.parent.mkdir(exist_ok=True)
    MODEL.write_text(json.dumps(described))
    listed = said_of(check_sources(Path("results"), record, frozenset()))
    return [item for item in listed if item.artifact == str(MODEL)]


def folder_of_model(folder: Path) -> dict[str, Any]:
    """Write a model's folder and return its description."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"hidden_size": 8}')
    return {"files": files_of_folder(str(folder.absolute()))}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("package:a_package_that_nobody_has/model.gguf", "its package is not installed"),
        ("./models/mine", "it is not beside the results"),
        ("~/models/mine", "it is not beside the results"),
    ],
)
def test_a_model_that_is_not_here_is_a_note(record: StudyRecord, source: str, reason: str) -> None:
    (note,) = of_model(record, source=source, files={"config.json": {"sha256": "0", "form": "0"}})
    assert isinstance(note, Note)
    assert note.text == f"not compared with the model: {reason}"


def test_a_model_of_the_hub_has_no_file_to_compare(record: StudyRecord) -> None:
    assert of_model(record, source="org/model") == []


def test_a_model_beside_the_results_that_was_changed_since_is_found(record: StudyRecord) -> None:
    described = folder_of_model(Path("./mine")) | {"source": "./mine"}
    assert of_model(record, **described) == []
    Path("mine/config.json").write_text('{"hidden_size": 16}')
    (finding,) = of_model(record, **described)
    assert isinstance(finding, Finding) and finding.expected.startswith("config.json ")


def test_a_hidden_file_that_an_earlier_version_described_is_no_difference(
    record: StudyRecord,
) -> None:
    described = folder_of_model(Path("./mine")) | {"source": "./mine"}
    described["files"][".gitattributes"] = {"sha256": "0", "form": "0"}
    assert of_model(record, **described) == []


def test_a_package_of_another_version_accuses_nobody(
    record: StudyRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "a_package_with_a_model"
    described = folder_of_model(package / "model") | {"source": f"package:{package.name}/model"}
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert of_model(record, **described) == []
    (package / "model" / "config.json").write_text('{"hidden_size": 16}')
    (note,) = of_model(record, **described)
    assert isinstance(note, Note) and "the package here holds another model" in note.text
