"""An archive of a study: whole, reproducible, checkable, without secrets or rows that must stay."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest

from tests.support.crate_contexts import Fetched
from tests.workflow.test_rerun_samples import CELL, change_row
from userturn.audit.run import audit
from userturn.cli.main import main
from userturn.errors import UserError
from userturn.export.read_archive import opened
from userturn.export.ro_crate import Member, crate_metadata
from userturn.export.secrets import texts_of
from userturn.export.withheld import Withholding, stretches, withheld_datasets
from userturn.export.write_archive import export, read_records
from userturn.storage.hashing import file_sha256

pytestmark = pytest.mark.slow

METADATA = "ro-crate-metadata.json"
KEY = "sk-" + "proj-abcdefghijklmnopqrstuvwxyz0123456789"


def commands_of_docs(program: str) -> list[str]:
    text = Path(__file__).parents[2].joinpath("docs/export.md").read_text(encoding="utf-8")
    return re.findall(rf"^    ({program} .*)$", text, re.MULTILINE)


def exported(study: Path, name: str = "made.zip", with_journals: bool = False) -> Path:
    archive = study.parent / name
    export(study / "results", archive, with_journals)
    return archive


def left_out(archive: Path) -> dict[str, dict[str, Any]]:
    with ZipFile(archive) as made:
        return {file["path"]: file for file in json.loads(made.read("left_out.json"))["files"]}


def contents(archive: Path) -> dict[str, bytes]:
    with ZipFile(archive) as made:
        return {name: made.read(name) for name in made.namelist()}


def mark(study: Path, **keys: bool) -> None:
    """Change the entry of the study's dataset in its record."""
    path = study / "results" / "study.json"
    record = json.loads(path.read_text())
    record["config"]["datasets"]["word-problems"] |= keys
    path.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def archive(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("export") / "made.zip"
    export(finished_study / "results", path)
    return path


def test_archive_holds_every_file_of_the_results_as_it_is(
    finished_study: Path, archive: Path
) -> None:
    held, absent = contents(archive), left_out(archive)
    for path in (finished_study / "results").rglob("*"):
        name = path.relative_to(finished_study).as_posix()
        if path.is_file() and not path.name.startswith("."):
            if name in absent:
                assert absent[name]["sha256"] == sha256(path.read_bytes()).hexdigest()
                assert name.startswith(("results/journal/", "results/leases/"))
            else:
                assert held[name] == path.read_bytes(), name


def test_archive_holds_the_workflow_and_what_it_took_from_the_project(archive: Path) -> None:
    assert {
        "Snakefile",
        "config.yaml",
        "rules/judges.smk",
        "scripts/run_job.py",
        "data/rubric_2.yaml",
        "data/demo/word_problems.jsonl",
        "README.md",
        METADATA,
    } <= set(contents(archive))


def test_every_noted_hash_is_that_of_a_file_or_of_one_left_out(archive: Path) -> None:
    absent = left_out(archive)
    with opened(archive) as results:
        records = read_records(results)
        assert len(records) > 20
        for record in records.values():
            for name, noted in {
                **record["inputs"],
                **record["outputs"],
                **record["beside"],
            }.items():
                path = results.parent / name
                there = sha256(path.read_bytes()).hexdigest() if path.is_file() else None
                assert noted == (there or absent[name]["sha256"]), name


def test_archive_is_audited_as_it_is_without_a_finding(archive: Path) -> None:
    with opened(archive) as results:
        assert audit(results).findings == []


def test_equal_studies_give_equal_archives(study: Path, archive: Path) -> None:
    for path in study.rglob("*"):
        os.utime(path, (1e9, 1e9))
    assert exported(study).read_bytes() == archive.read_bytes()


def test_journals_are_taken_where_they_are_asked_for_and_checkpoints_never(study: Path) -> None:
    checkpoint = study / "results/checkpoints/sft/a/adapter.safetensors"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"weights")
    whole = exported(study, with_journals=True)
    assert [name for name in left_out(whole) if "/checkpoints/" in name] == [
        "results/checkpoints/sft/a/adapter.safetensors"
    ]
    journals = [name for name in contents(whole) if name.startswith("results/journal/")]
    assert sum(name.endswith(".jsonl") for name in journals) == 2
    assert [name for name in left_out(whole) if "/journal/" in name] == []


def test_taken_back_verdicts_are_noted_in_every_archive(study: Path) -> None:
    name = "results/journal/judges/j/rejudged.json"  # identities depend on it
    (study / name).parent.mkdir(parents=True)
    (study / name).write_text("{}\n")
    assert name in contents(exported(study))


def test_study_with_a_secret_is_refused_and_nothing_written(study: Path) -> None:
    change_row(study / CELL / "user_turns.parquet", 3, text=f"my key is {KEY}")
    with pytest.raises(UserError) as refused:
        exported(study)
    assert f"{CELL}/user_turns.parquet', column text, row 4 (API key)" in str(refused.value)
    assert KEY[-12:] not in str(refused.value)
    assert not (study.parent / "made.zip").exists()


def test_value_of_a_judges_key_is_found(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "quite another form")
    (study / "results" / "tables" / "rates.csv").write_text("a\nquite another form\n")
    with pytest.raises(UserError, match=r"rates.csv', line 2 \(value of OPENAI_API_KEY\)"):
        exported(study)


def all_texts(archive: Path, folder: Path) -> Iterator[str]:
    with ZipFile(archive) as made:
        made.extractall(folder)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            for texts in texts_of(path):
                yield from texts.texts.drop_nulls()


@pytest.mark.parametrize(
    ("key", "value"), [("private", True), ("export", False)], ids=["private", "export"]
)
def test_no_row_that_must_stay_is_in_the_archive(
    key: str, value: bool, study: Path, tmp_path: Path
) -> None:
    items = pl.read_parquet(study / "results" / "datasets" / "word-problems.parquet")
    questions = [messages[-1]["content"] for messages in items["messages"]]
    turns = pl.read_parquet(study / CELL / "user_turns.parquet")["text"]
    before = "\n".join(all_texts(exported(study, "before.zip"), tmp_path / "before"))
    assert all(question[:40] in before for question in questions)
    mark(study, **{key: value})
    made = exported(study)
    after = "\n".join(all_texts(made, tmp_path / "after"))
    assert [question for question in questions if question[:40] in after] == []
    # Ids and counts stay: the rates can be read, and every chain of hashes still closes.
    held, absent = contents(made), left_out(made)
    assert {"results/tables/rates.parquet", f"{CELL}/human_sample.parquet"} <= set(held)
    assert "results/provenance/prepare_dataset/word-problems.json" in held
    reason = f"rows of the dataset word-problems, marked `{key}: {json.dumps(value)}`"
    for name in (
        "results/datasets/word-problems.parquet",
        "results/answers/tiny/word-problems.parquet",
        f"{CELL}/user_turns.parquet",
        f"{CELL}/verdicts/heuristic.parquet",
        "data/demo/word_problems.jsonl",
    ):
        assert absent[name]["reason"] == reason
        assert len(absent[name]["sha256"]) == 64
    assert absent["results/report/data/prompts-0-0.js"]["reason"] == f"text of {reason}"
    assert reason in held["README.md"].decode()
    assert len(turns) == 5


@pytest.mark.parametrize("with_journals", [False, True])
def test_an_archive_without_private_rows_has_no_row_to_accuse(
    with_journals: bool, study: Path
) -> None:
    mark(study, private=True)
    with opened(exported(study, with_journals=with_journals)) as results:
        checks = {finding.check for finding in audit(results).findings}
    assert checks.isdisjoint({"rows", "left out", "probes", "markers"})


def test_a_file_that_nothing_keeps_back_must_be_in_the_archive(
    archive: Path, tmp_path: Path
) -> None:
    with ZipFile(archive) as made:
        made.extractall(tmp_path)
    rates, listed = tmp_path / "results/tables/rates.parquet", tmp_path / "left_out.json"
    content = json.loads(listed.read_text())
    content["files"].append(
        {
            "path": "results/tables/rates.parquet",
            "n_bytes": rates.stat().st_size,
            "sha256": file_sha256(rates),
            "reason": "rows of the dataset word-problems, marked `private: true`",
        }
    )
    listed.write_text(json.dumps(content))
    rates.unlink()
    (finding,) = (f for f in audit(tmp_path / "results").findings if f.check == "left out")
    assert finding.artifact == "results/tables/rates.parquet"


def withholding(results: Path, **datasets: dict[str, Any]) -> Withholding:
    plain = {"file": "data/x.jsonl"}
    return Withholding({"datasets": {k: plain | v for k, v in datasets.items()}}, results)


@pytest.mark.parametrize("name", ["data/x.jsonl", "./data/x.jsonl", "{project}/data/x.jsonl"])
def test_local_file_of_a_withheld_dataset_stays_however_it_is_named(
    name: str, tmp_path: Path
) -> None:
    file = name.format(project=tmp_path)
    config = {"datasets": {"mine": {"file": file, "private": True}}}
    assert Withholding(config, tmp_path / "results").reason_by_path("data/x.jsonl") is not None


def test_study_with_a_damaged_file_is_refused(study: Path) -> None:
    path = study / CELL / "user_turns.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"user_turns.parquet' cannot be read to its end"):
        exported(study)


def test_archive_inside_of_the_results_is_refused(finished_study: Path) -> None:
    results = finished_study / "results"
    with pytest.raises(UserError, match="inside the folder that it contains"):
        export(results, results / "tables" / "made.zip")


def test_journals_of_a_withheld_dataset_never_leave(tmp_path: Path) -> None:
    decide = withholding(tmp_path, mine={"private": True}, yours={}).reason_by_path
    for name in (
        "results/journal/m/mine/a.jsonl",
        "results/journal/judges/j/mine/a.jsonl",
        "results/requests/m/mine/abc/1of1.parquet",
        "results/controls/human/mine/user_turns.parquet",
    ):
        assert decide(name) is not None
        assert decide(name.replace("mine", "yours")) is None


@pytest.mark.parametrize("folder", ["humans", "pairs"])
def test_round_that_shows_withheld_rows_keeps_its_key_alone(tmp_path: Path, folder: str) -> None:
    for name, dataset in (("first", "yours"), ("second", "mine")):
        (tmp_path / folder / name).mkdir(parents=True)
        path = tmp_path / folder / name / "key.parquet"
        pl.DataFrame({"dataset": [dataset]}).write_parquet(path)
    decide = withholding(tmp_path, mine={"private": True}, yours={}).reason_by_path
    shown = ("items.parquet", "task.html", "annotations.parquet", "label_studio/tasks.json")
    for name in shown:
        assert decide(f"results/{folder}/second/{name}") is not None
        assert decide(f"results/{folder}/first/{name}") is None
    assert decide("results/drawn/second/items.parquet") is not None
    assert decide("data/annotations/second/anna.csv") is not None
    assert decide(f"results/{folder}/second/key.parquet") is None


def test_rationales_that_may_quote_withheld_rows_stay(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    row = {"conversation": None, "turn": None, "rationale": "It takes up the oil."}
    path = tmp_path / "tables" / "disagreements.parquet"
    for dataset, stays in (("mine", True), ("yours", False)):
        pl.DataFrame([{"dataset": dataset} | row]).write_parquet(path)
        decide = withholding(tmp_path, mine={"private": True}, yours={}).reason_by_path
        assert (decide("results/tables/disagreements.parquet") is not None) == stays
        assert (decide("results/tables/disagreements.csv") is not None) == stays


def test_what_all_items_share_marks_no_item(tmp_path: Path) -> None:
    shared, own = "Put the final answer behind four number signs", "How many apples has row number"
    (tmp_path / "datasets").mkdir()
    messages = [[{"role": "user", "content": f"{own} {i}?\n{shared}."}] for i in range(3)]
    pl.DataFrame({"messages": messages}).write_parquet(tmp_path / "datasets" / "mine.parquet")
    assert stretches(tmp_path, "mine") == [f"{own} {i}" for i in range(3)]


def test_only_marked_datasets_are_withheld() -> None:
    datasets = {"a": {"private": True}, "b": {"private": False}, "c": {"export": False}, "d": {}}
    assert list(withheld_datasets({"datasets": datasets})) == ["a", "c"]


def test_crate_tells_every_job_with_its_files_and_times(
    finished_study: Path, archive: Path
) -> None:
    graph = {e["@id"]: e for e in json.loads(contents(archive)[METADATA])["@graph"]}
    records = read_records(finished_study / "results")
    jobs = {name for name in graph if name.startswith("#job/")}
    assert jobs == {f"#job/{name}" for name in records}
    judge = graph["#job/judge/tiny/word-problems/t0/none/heuristic"]
    cell = "results/cells/tiny/word-problems/t0/none"
    assert judge["instrument"] == {"@id": "#rule/judge"}
    objects = [entity["@id"] for entity in judge["object"]]
    assert [name for name in objects if not name.startswith("#value/")] == [
        f"{cell}/user_turns.parquet",
        "results/datasets/word-problems.parquet",
    ]
    assert judge["result"] == {"@id": f"{cell}/verdicts/heuristic.parquet"}
    made = records["judge/tiny/word-problems/t0/none/heuristic"]["made"]
    assert (judge["startTime"], judge["endTime"]) == (made["began"], made["ended"])
    files = {name for name, e in graph.items() if "File" in e["@type"]}
    assert files | {METADATA} == set(contents(archive))
    for name in left_out(archive):
        assert graph[f"#left-out/{name}"]["sha256"] == left_out(archive)[name]["sha256"]


@pytest.mark.parametrize("profile", ["provenance-run-crate", "process-run-crate"])
def test_crate_is_valid_by_the_communitys_validator(
    profile: str, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = pytest.importorskip("rocrate_validator.services")
    from rocrate_validator.utils.http import HttpRequester

    monkeypatch.setattr(HttpRequester, "get", lambda _, url, **__: Fetched(url), raising=False)
    write_crate_of_one_cell(archive, tmp_path, with_workflow=profile == "provenance-run-crate")
    asked = services.ValidationSettings(
        rocrate_uri=tmp_path,
        profile_identifier=profile,
        requirement_severity="REQUIRED",
        offline=True,
    )
    issues = services.validate(asked).get_issues()
    assert [(issue.check.identifier, issue.message) for issue in issues] == []


def write_crate_of_one_cell(archive: Path, folder: Path, with_workflow: bool) -> None:
    """Unpack what one cell is made of, with a crate of its own: a whole one takes half a minute."""
    wanted = re.compile(r"(sweep|collect_user_turns|judge|record_study)($|.*t0/none|/tiny/1)")
    with opened(archive) as results:
        records = {n: r for n, r in read_records(results).items() if wanted.match(n)}
        assert len(records) == 4
        named = {path for r in records.values() for path in (*r["inputs"], *r["outputs"])}
        named |= {"README.md"}
        if with_workflow:
            named |= {"Snakefile", "scripts/run_job.py"}
        members = [Member("results/journal/gone.jsonl", 3, "0" * 64, "journals")]
        for name in sorted(named):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(results.parent / name, folder / name)
            members.append(Member(name, 1, sha256((folder / name).read_bytes()).hexdigest()))
    (folder / METADATA).write_text(json.dumps(crate_metadata(members, records)))


def test_folder_without_a_finished_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run `snakemake` first"):
        export(tmp_path)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_a_signature_by_the_commands_of_the_docs_is_good_until_a_byte_changes(
    study: Path, tmp_path: Path
) -> None:
    sign, verify = commands_of_docs("ssh-keygen")
    export(study / "results", tmp_path / "results.zip")
    new = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "id_ed25519"]
    subprocess.run(new, cwd=tmp_path, check=True)
    key = (tmp_path / "id_ed25519.pub").read_text()
    (tmp_path / "signers.txt").write_text(f"ada@example.org {key}")
    subprocess.run(sign.replace("~/.ssh/", ""), shell=True, cwd=tmp_path, check=True)
    assert subprocess.run(verify, shell=True, cwd=tmp_path, check=False).returncode == 0
    with ZipFile(tmp_path / "results.zip", "a") as made:
        made.writestr("more.txt", "more")
    assert subprocess.run(verify, shell=True, cwd=tmp_path, check=False).returncode != 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_the_question_to_a_timestamp_authority_has_the_archives_hash_and_nothing_else_of_it(
    study: Path, tmp_path: Path
) -> None:
    ask, _ = commands_of_docs("openssl")
    export(study / "results", tmp_path / "results.zip")
    subprocess.run(ask.partition(" && ")[0], shell=True, cwd=tmp_path, check=True)
    question = (tmp_path / "results.zip.tsq").read_bytes()
    assert bytes.fromhex(file_sha256(tmp_path / "results.zip")) in question
    assert len(question) < 100  # its version, the hash's name and 32 bytes, a random number


def test_an_archive_with_the_signatures_of_an_earlier_version_beside_it_is_audited(
    study: Path, tmp_path: Path
) -> None:
    archive = exported(study, "signed.zip")
    for name in ("sig", "tsr", "sigstore.json"):
        archive.with_name(f"signed.zip.{name}").write_bytes(b"anything")
    assert main(["audit", str(archive), "--to", str(tmp_path)]) == 3  # without journals
