"""The audit says which files a study's configuration leaves out, and markers of jobs are none."""

from pathlib import Path

import pytest

from userturn.audit.check_files import check_files
from userturn.audit.findings import Finding, Note, remake, with_present_name
from userturn.provenance.job_record import write_record
from userturn.provenance.study_files import Files
from userturn.storage.atomic_files import SCHEMA_VERSION
from userturn.storage.hashing import file_sha256


def add(results: Path, name: str, inputs: dict[str, str] | None = None, **wildcards: str) -> None:
    """Write a file of a job, and the job's record."""
    made = results / name
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text("{}")
    record = {
        "schema_version": SCHEMA_VERSION,
        "rule": "some_rule",
        "wildcards": wildcards,
        "identity": None,
        "inputs": inputs or {},
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
    add(tmp_path, name, judge="j")
    (tmp_path / "journal").mkdir()
    found = check_files(Files(tmp_path, {}), {})
    notes = [note for note in found if isinstance(note, Note) and note.check == "completeness"]
    assert [note.artifact for note in notes] == ([f"results/{name}"] if is_left_out else [])


def test_a_table_that_the_study_has_no_more_is_not_asked_to_follow_from_its_datasets(
    tmp_path: Path,
) -> None:
    """As the table of training data of a study whose trained models were taken out."""
    add(tmp_path, "datasets/items.json", dataset="items")
    stale = {"results/datasets/items.json": "0" * 64}
    for name in ("training_overlap", "rates"):
        add(tmp_path, f"tables/{name}.json", stale)
    asked = {"results/datasets/items.json": "i", "results/tables/rates.json": "i"}
    found = check_files(Files(tmp_path, {}), asked)
    stale_ones = [f.artifact for f in found if isinstance(f, Finding) and f.check == "chain"]
    assert stale_ones == ["results/tables/rates.json"]


@pytest.mark.parametrize(("is_wanted", "fix"), [(True, "snakemake"), (False, "restore it from")])
def test_only_what_the_study_needs_is_made_again(tmp_path: Path, is_wanted: bool, fix: str) -> None:
    """No rule makes a cell of a model that has another name now or was taken out."""
    name = "results/cells/m/d/t0/none/user_turns.json"
    add(tmp_path, name.removeprefix("results/"), model="m")
    (tmp_path / name.removeprefix("results/")).write_text("[]")
    found = check_files(Files(tmp_path, {}), {name: None} if is_wanted else {})
    (altered,) = (item for item in found if isinstance(item, Finding) and item.check == "hashes")
    assert altered.fix.startswith(fix)


@pytest.mark.parametrize(
    ("path", "names", "sweep"),
    [
        ("results/requests/old/d/0a/1of2.parquet", {"old": "new"}, "results/sweeps/new/1of2.json"),
        ("results/sweeps/old/finished/1of1.json", {"old": "new"}, "results/sweeps/new/1of1.json"),
        ("results/requests/m/d/0a/1of1.parquet", {"m": "m"}, "results/sweeps/m/1of1.json"),
        ("results/requests/gone/d/0a/1of1.parquet", {"m": "m"}, None),
    ],
)
def test_what_a_renamed_model_was_asked_is_planned_again_under_its_present_name(
    path: str, names: dict[str, str], sweep: str | None
) -> None:
    fix = with_present_name(Finding("hashes", path, "a", "b", remake(path)), names).fix
    assert (
        (f"--force {sweep} " in fix)
        if sweep
        else fix.endswith("select the model gone again and audit again")
    )
