"""The audit says which files a study's configuration leaves out, and markers of jobs are none."""

from pathlib import Path

import pytest

from userturn.audit.check_files import check_files
from userturn.audit.findings import Note
from userturn.provenance.job_record import write_record
from userturn.provenance.study_files import Files
from userturn.storage.atomic_files import SCHEMA_VERSION
from userturn.storage.hashing import file_sha256


def add(results: Path, name: str) -> None:
    """Write a file of a job with wildcards, and the job's record."""
    made = results / name
    made.parent.mkdir(parents=True)
    made.write_text("{}")
    record = {
        "schema_version": SCHEMA_VERSION,
        "rule": "some_rule",
        "wildcards": {"judge": "j"},
        "identity": None,
        "inputs": {},
        "outputs": {f"results/{name}": file_sha256(made)},
        "beside": {},
        "journals": {},
        "made": {"code_sha256": "0" * 64, "commit": None},
    }
    write_record(results / "provenance" / name, record)


@pytest.mark.parametrize(
    ("name", "is_left_out"),
    [
        ("cells/m/d/t0/none/verdicts.json", True),
        ("sweeps/m/1of1.json", False),
        ("judging/j.json", False),
        ("judging/batches/j.json", False),
    ],
)
def test_only_artifacts_of_cells_can_be_left_out(
    tmp_path: Path, name: str, is_left_out: bool
) -> None:
    add(tmp_path, name)
    (tmp_path / "journal").mkdir()
    found = check_files(Files(tmp_path, {}), {})
    notes = [note for note in found if isinstance(note, Note) and note.check == "completeness"]
    assert [note.artifact for note in notes] == ([f"results/{name}"] if is_left_out else [])
