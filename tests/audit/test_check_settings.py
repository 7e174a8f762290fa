"""The audit compares models' descriptions, their pins and their entries, and finds differences."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.audit.check_settings import check_settings
from userturn.audit.findings import Finding
from userturn.config.load import load_config
from userturn.study.contents import FileContents
from userturn.study.record import StudyRecord, study_record
from userturn.workflow.study import Study
from userturn.workflow.study_files import Files

MODEL, COMMIT = "qwen3.5-0.8b", "a" * 40
DESCRIPTION, PIN = f"models/{MODEL}.json", f"revisions/{MODEL}.json"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyRecord:
    """A study of one model of the hub, described and pinned to one commit."""
    monkeypatch.chdir(ROOT)
    config = load_config(["config.yaml"])
    config["run"] |= {"models": [MODEL], "datasets": ["gsm8k"]}
    record = study_record(config, FileContents(config))
    entry = record.grid(tmp_path).models[MODEL]
    described = {
        "source": entry["source"],
        "revision_asked_for": entry["revision"],
        "revision": COMMIT,
        "trust_remote_code": False,
        "template_options": {"enable_thinking": False},
        "proofs": ["whole"],
    }
    pin = {"source": entry["source"], "asked_for": entry["revision"], "revision": COMMIT}
    for path, content in ((DESCRIPTION, described), (PIN, pin)):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(json.dumps(content))
    return record


def found(results: Path, record: StudyRecord) -> list[Finding]:
    """Return what is found of models, with no artifact asked for."""
    listed = check_settings(Files(results, {}), record, Study(record.grid(results)), {})
    kinds = ("pins", "proofs")
    findings = [item for item in listed if isinstance(item, Finding) and item.check in kinds]
    return [finding for finding in findings if MODEL in finding.artifact]


def of_check(results: Path, record: StudyRecord, left_out: dict[str, str], check: str) -> list[str]:
    """Return the artifacts that a check finds in a copy; a note has the word before it."""
    listed = [{"path": path, "sha256": "0", "reason": why} for path, why in left_out.items()]
    (results.parent / "left_out.json").write_text(json.dumps({"files": listed}))
    files = Files(results, dict.fromkeys(left_out, "0"))
    found = check_settings(files, record, Study(record.grid(results)), {})
    named = [("" if isinstance(i, Finding) else "note ") + i.artifact for i in found]
    return [name for name, item in zip(named, found, strict=True) if item.check == check]


def test_a_file_may_be_left_out_for_quoting_withheld_rows_and_for_no_other_reason(
    tmp_path: Path, record: StudyRecord
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    said = "text of rows of the dataset healthbench, marked `private: true`"  # as in config.yaml
    left_out = {
        "results/cells/a.parquet": said,
        "results/cells/b.parquet": said.replace("healthbench", "gsm8k"),  # which is not private
        "results/cells/c.parquet": "too large",
        "results/humans/first/annotations.parquet": said.removeprefix("text of "),  # in no round
        "results/leases/m/1of1.json": "says which job was at work",
        "results/checkpoints/m/a/adapter.safetensors": "a step of a training",
    }
    assert of_check(results, record, left_out, "left out") == [
        "note results/cells/a.parquet",
        "results/cells/b.parquet",
        "results/cells/c.parquet",
        "results/humans/first/annotations.parquet",
    ]


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_description_its_entry_and_its_pin_that_agree_have_no_finding(
    tmp_path: Path, record: StudyRecord
) -> None:
    assert found(tmp_path, record) == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"source": "another/model"}, "source"),
        ({"revision_asked_for": "v2"}, "revision_asked_for"),
        ({"trust_remote_code": True}, "trust_remote_code"),
        ({"template_options": {"enable_thinking": True}}, "template_options"),
    ],
)
def test_a_description_of_another_model_than_its_entry_is_found(
    tmp_path: Path, record: StudyRecord, changes: dict[str, Any], named: str
) -> None:
    edit(tmp_path / DESCRIPTION, **changes)
    findings = [f for f in found(tmp_path, record) if f.artifact == f"results/{DESCRIPTION}"]
    assert [f.expected.split()[0] for f in findings] == [named]
    assert findings[0].found == str(next(iter(changes.values())))


@pytest.mark.parametrize(
    "changes", [{"source": "another/model"}, {"asked_for": "v2"}, {"revision": "b" * 40}]
)
def test_a_pin_that_differs_from_the_description_is_found(
    tmp_path: Path, record: StudyRecord, changes: dict[str, str]
) -> None:
    edit(tmp_path / PIN, **changes)
    (finding,) = found(tmp_path, record)
    assert (finding.check, finding.artifact) == ("pins", f"results/{PIN}")


def test_a_branch_is_no_pin(tmp_path: Path, record: StudyRecord) -> None:
    for path in (DESCRIPTION, PIN):
        edit(tmp_path / path, revision="main")
    (finding,) = found(tmp_path, record)
    assert (finding.expected, finding.found) == ("the commit of a hub model", "main")


def test_a_missing_pin_is_left_to_the_check_of_files(tmp_path: Path, record: StudyRecord) -> None:
    (tmp_path / PIN).unlink()
    assert found(tmp_path, record) == []


@pytest.mark.parametrize("text", ["[", "[]", "3", "null", "[" * 100_000, "\xff"])
@pytest.mark.parametrize("path", [DESCRIPTION, PIN])
def test_a_description_or_pin_that_is_no_object_is_found_though_its_hash_was_forged(
    tmp_path: Path, record: StudyRecord, path: str, text: str
) -> None:
    (tmp_path / path).write_text(text)
    assert [(f.check, f.artifact) for f in found(tmp_path, record)] == [("pins", f"results/{path}")]


def test_a_model_of_a_package_that_the_auditor_lacks_is_no_fault_of_the_study(
    tmp_path: Path, record: StudyRecord
) -> None:
    source = "package:a_package_that_nobody_has/model.gguf"
    record.config["models"][MODEL] = {"source": source}
    edit(tmp_path / DESCRIPTION, source=source, revision=None)
    edit(tmp_path / PIN, source=source, revision=None)
    assert found(tmp_path, record) == []
