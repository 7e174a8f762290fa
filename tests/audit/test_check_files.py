"""The audit says which files a study's configuration leaves out, and markers of jobs are none."""

from pathlib import Path

import pytest

from tests.support.job_records import job_record
from userturn.audit.check_files import check_files
from userturn.audit.findings import Finding, name_present_sweeps, remake
from userturn.storage.hashing import file_sha256
from userturn.workflow.job_record import write_record
from userturn.workflow.study_files import Files


def add(results: Path, name: str, inputs: dict[str, str] | None = None, **wildcards: str) -> None:
    """Write a file of a job, and the job's record."""
    made = results / name
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text("{}")
    outputs = {f"results/{name}": file_sha256(made)}
    record = job_record("some_rule", wildcards=wildcards, inputs=inputs or {}, outputs=outputs)
    write_record(results / "provenance" / name, record)


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


SWEEPS = {"old": ["results/sweeps/new/1of2.json", "results/sweeps/new/2of2.json"]}


@pytest.mark.parametrize(
    "path", ["requests/old/d/0a/1of3.parquet", "sweeps/old/finished/1of2.json"]
)
def test_what_a_model_was_asked_is_planned_again_by_the_sweeps_that_it_has_now(path: str) -> None:
    """It has another name now, or other shards."""
    finding = Finding("hashes", path, "a", "b", remake(f"results/{path}"))
    forced = "--force results/sweeps/new/1of2.json results/sweeps/new/2of2.json && "
    assert forced in name_present_sweeps(finding, SWEEPS).fix


def test_what_a_model_was_asked_that_is_not_selected_is_restored() -> None:
    finding = Finding("hashes", "r", "a", "b", remake("results/requests/gone/d/0a/1of1.parquet"))
    fix = name_present_sweeps(finding, SWEEPS).fix
    assert fix.endswith("select the model gone again and audit again")


@pytest.mark.parametrize(("there", "is_missing"), [(["1of2", "2of2"], False), (["1of2"], True)])
def test_a_lost_plan_is_missing_unless_shards_of_another_number_have_planned_its_requests(
    tmp_path: Path, there: list[str], is_missing: bool
) -> None:
    for shard in there:
        add(tmp_path, f"requests/m/d/0a/{shard}.json")
    lost = "results/requests/m/d/0a/1of1.json"
    found = check_files(Files(tmp_path, {}), {lost: None})
    missing = [item.artifact for item in found if item.check == "completeness"]
    assert (lost in missing) is is_missing
