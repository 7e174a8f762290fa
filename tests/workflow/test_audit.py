"""An audit finds every alteration of a finished study, and nothing in a faithful copy of one."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.support.forgery import first_row, flip, forge, forge_journal, rewrite
from tests.support.snakemake_runs import copy_project
from userturn.audit.findings import Finding
from userturn.audit.result import NO_JOURNALS, NOT_NEEDED
from userturn.audit.run import audit
from userturn.cli.main import main
from userturn.export.read_archive import opened
from userturn.export.write_archive import export
from userturn.judges import heuristic
from userturn.judges.verdict import Verdict
from userturn.storage.files import read_identity
from userturn.workflow import study_files
from userturn.workflow.job_record import read_record, write_record

pytestmark = pytest.mark.slow

CELL = "cells/tiny/word-problems/t0/none"
OTHER = "cells/tiny/word-problems/t1/none"
TURNS = f"{CELL}/user_turns.parquet"
VERDICTS = f"{CELL}/verdicts/heuristic.parquet"


@pytest.fixture(scope="module")
def copied(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a finished study's results that the tests of this module share."""
    folder = tmp_path_factory.mktemp("copied") / "results"
    shutil.copytree(finished_study / "results", folder)
    return folder


@pytest.fixture
def results(
    copied: Path, finished_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The copy, far from any project; what a test changes in it is made good afterwards."""
    monkeypatch.chdir(tmp_path)
    yield copied
    whole = finished_study / "results"
    for path in copied.rglob("*"):
        if path.is_file() and not (whole / path.relative_to(copied)).is_file():
            path.unlink()
    for path in whole.rglob("*"):
        copy = copied / path.relative_to(whole)
        if path.is_file() and (not copy.is_file() or copy.read_bytes() != path.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def found(results: Path) -> list[Finding]:
    return audit(results).findings


def named(results: Path, path: str) -> list[Finding]:
    """Return the findings about one file, which must be there."""
    findings = [finding for finding in found(results) if finding.artifact == f"results/{path}"]
    assert findings, f"nothing was found about {path}"
    return findings


def test_a_study_behind_a_link_is_compared_with_what_lies_beside_its_folder(
    finished_study: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(finished_study / "results")
    done = audit(tmp_path / "link")
    assert done.findings == [] and not done.is_partial


def test_a_finished_study_has_no_finding_wherever_and_whenever_it_is_copied(results: Path) -> None:
    for path in results.rglob("*"):
        os.utime(path, (0, 0))
    assert found(results) == []


def test_an_export_has_the_digests_of_its_folder(results: Path, tmp_path: Path) -> None:
    export(results, tmp_path / "study.zip")
    with opened(tmp_path / "study.zip") as unpacked:
        there, here = audit(unpacked), audit(results)
    assert (there.digest, there.records_digest) == (here.digest, here.records_digest)


def test_the_digest_forgets_who_did_the_work_when_and_the_digest_of_records_does_not(
    results: Path,
) -> None:
    before = audit(results)
    shutil.rmtree(results / "leases")
    path = results / "provenance" / "tabulate.json"
    record = read_record(path)
    assert record is not None
    record["made"] |= {"host": "elsewhere", "began": "2030-01-01T00:00:00+00:00"}
    write_record(path, record)
    after = audit(results)
    assert after.digest == before.digest and after.records_digest != before.records_digest


def test_a_digest_covers_from_what_each_artifact_was_made(results: Path) -> None:
    before = audit(results)
    path = results / "provenance" / "tabulate.json"
    record = read_record(path)
    assert record is not None
    name, _ = record["inputs"].popitem()
    write_record(path, record)
    after = audit(results)
    assert after.digest != before.digest
    assert [finding.expected for finding in after.findings] == [f"made from {name}"]


STRAY = (".DS_Store", "notes.txt", "tables/rates (1).csv", ".git/objects/ab/cd", "caf\udce9.txt")


def test_stray_files_are_notes_and_change_no_digest(results: Path, tmp_path: Path) -> None:
    before = audit(results)
    for stray in STRAY:
        (results / stray).parent.mkdir(parents=True, exist_ok=True)
        (results / stray).write_bytes(b"\x00mine")
    after = audit(results)
    assert after.findings == [] and after.digest == before.digest
    assert "orphans" in {note.check for note in after.notes}
    assert main(["audit", str(results), "--to", str(tmp_path)]) == 3  # also a name of other bytes


def test_what_systems_editors_and_git_leave_beside_every_file_is_read_by_nothing(
    results: Path, tmp_path: Path
) -> None:
    digest, places = audit(results).digest, [path for path in results.rglob("*") if path.is_file()]
    for place in places:
        for name in (f"._{place.name}", f".{place.name}.swp", ".git/object" + place.suffix, "lock"):
            stray = place.parent / name
            stray.parent.mkdir(exist_ok=True)
            stray.write_bytes(b"" if name == "lock" else b"\0\5\x16\7 {")
    found = audit(results)
    assert (found.findings, found.digest) == ([], digest)
    assert {note.check for note in found.notes} >= {"orphans"}
    export(results, tmp_path / "clean.zip")
    with opened(tmp_path / "clean.zip") as unpacked:
        assert [path for path in unpacked.rglob("*") if "/." in path.as_posix()] == []


KINDS_OF_FILES = (
    "datasets/word-problems.parquet",
    "models/tiny.json",
    "revisions/tiny.json",
    "answers/tiny/word-problems.parquet",
    "grades/tiny/word-problems.parquet",
    TURNS,
    VERDICTS,
    f"{CELL}/human_sample.parquet",
    "humans/first/key.parquet",
    "humans/first/task.html",
    "drawn/first/key.parquet",
    "tables/rates.parquet",
    "tables/rates.csv",
    "tables/contrasts.tex",
    "figures/rates_by_temperature.vl.json",
    "figures/rates_by_temperature.svg",
    "figures/rates_by_temperature.png",
    "report/index.html",
    "sweeps/tiny/1of1.json",
)
SWEPT = {"journal": "jsonl", "requests": "parquet"}


def test_a_flipped_bit_is_found_in_every_kind_of_file(results: Path) -> None:
    of_sweeps = (min(results.glob(f"{kind}/tiny/**/*.{end}")) for kind, end in SWEPT.items())
    paths = [*KINDS_OF_FILES, *(str(path.relative_to(results)) for path in of_sweeps)]
    for path in paths:
        flip(results / path)
    damaged = {finding.artifact for finding in found(results)}
    assert {f"results/{path}" for path in paths} - damaged == set()


def test_a_flipped_bit_is_found_in_a_record(results: Path) -> None:
    flip(results / "provenance" / "tabulate.json")
    assert named(results, "provenance/tabulate.json")


def test_an_edited_configuration_of_a_study_is_found(results: Path) -> None:
    text = (results / "study.json").read_text()
    (results / "study.json").write_text(text.replace("20260402", "20260403"))
    assert named(results, "study.json")


DELETED = (
    *(TURNS, "tables/accuracy.csv", "figures/grid_overview.svg"),
    "humans/first/annotations.parquet",
)


def test_deleted_files_are_found_missing(results: Path) -> None:
    for path in DELETED:
        (results / path).unlink()
    said = {(finding.artifact, finding.check) for finding in found(results)}
    deleted = {f"results/{path}" for path in DELETED}
    assert {one for one in said if one[0] in deleted} == {(one, "completeness") for one in deleted}


def test_a_deleted_record_is_found_by_what_it_recorded(results: Path) -> None:
    (results / "provenance" / "tabulate.json").unlink()
    assert named(results, "tables/rates.parquet")[0].check == "records"


def test_a_cell_that_came_after_the_draw_needs_no_sample_and_one_before_it_does(
    results: Path,
) -> None:
    sample = f"{CELL}/human_sample.parquet"
    (results / sample).unlink()
    assert named(results, sample)
    (results / "provenance/sample_for_humans/tiny/word-problems/t0/none.json").unlink()
    assert found(results) == []


def test_a_file_that_no_job_made_is_an_orphan(results: Path) -> None:
    shutil.copy(results / TURNS, results / CELL / "more_turns.parquet")
    (finding,) = found(results)
    fix = f"mv results/{CELL}/more_turns.parquet ."
    assert (finding.check, finding.fix) == ("orphans", fix)


def test_a_table_that_only_an_earlier_version_made_is_noted_and_no_fault(results: Path) -> None:
    shutil.copy(
        results / "tables/accuracy.parquet", results / "tables/temperature_response.parquet"
    )
    assert found(results) == []


def test_a_marker_that_a_later_sweep_wrote_is_no_fault(results: Path) -> None:
    path = "sweeps/tiny/1of1.json"
    (results / path).write_text(
        (results / path)
        .read_text()
        .replace('"n_found": 0', '"n_found": 9')
        .replace('"n_asked": 25', '"n_asked": 16')
    )
    forge(results, path)
    assert found(results) == []


def test_what_a_killed_job_left_is_no_more_than_a_note(results: Path) -> None:
    (results / CELL / ".user_turns.parquet.4711").write_bytes(b"half")
    done = audit(results)
    assert done.findings == []
    assert {note.check for note in done.notes} - {"sources"} == {"orphans"}


def test_two_swapped_cells_are_found_both(results: Path) -> None:
    one, other = results / TURNS, results / OTHER / "user_turns.parquet"
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    for path in (TURNS, f"{OTHER}/user_turns.parquet"):
        forge(results, path, everywhere=True)
    checks = {finding.check for finding in named(results, TURNS)}
    assert {"identities", "rows"} <= checks
    assert named(results, f"{OTHER}/user_turns.parquet")


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (TURNS, lambda table: table[1:]),
        (TURNS, lambda table: pl.concat([table, table[:1]])),
        (TURNS, first_row(text="What if the train is late?")),
        (TURNS, first_row(key="0" * 64)),
        ("answers/tiny/word-problems.parquet", first_row(answer="42")),
        (VERDICTS, first_row(label="genuine_followup", genuine=True, unscored_reason=None)),
        (VERDICTS, lambda table: table[1:]),
        ("tables/rates.parquet", first_row(estimate=0.9)),
        ("tables/rates.parquet", lambda table: table[1:]),
        ("tables/rates.parquet", lambda table: table.rename({"estimate": "guess"})),
    ],
)
def test_a_forged_row_is_found_though_every_hash_was_forged_too(
    results: Path, path: str, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    rewrite(results / path, change)
    forge(results, path, everywhere=True)
    assert named(results, path)


def made_from(path: str) -> str:
    return f"it is made from results/{path}, which a finding is about"


def test_a_table_that_cannot_be_made_again_is_told_why_and_not_passed_over(results: Path) -> None:
    grades = "grades/tiny/word-problems.parquet"
    rewrite(results / grades, lambda table: table.drop("correct"))
    forge(results, grades, everywhere=True)
    done = audit(results)
    why = {of.artifact: of.why for of in done.statuses}
    assert {(f.check, f.artifact) for f in done.findings} >= {("grades", f"results/{grades}")}
    assert why["results/tables/accuracy.parquet"] == made_from(grades)


def test_a_report_that_cannot_be_written_again_is_told_why_and_not_passed_over(study: Path) -> None:
    results, model = study / "results", "models/tiny.json"
    described = json.loads((results / model).read_text())
    (results / model).write_text(json.dumps(described | {"weights_sha256": 7}))
    forge(results, model, everywhere=True)
    done = audit(results)
    why = {of.artifact: of.why for of in done.statuses}
    assert {(f.check, f.artifact) for f in done.findings} >= {("sources", f"results/{model}")}
    assert why["results/report/index.html"] == made_from(model)


@pytest.mark.parametrize("line", [[], {"key": "k", "outcome": "ok", "token_ids": [10**30]}])
def test_a_journal_with_whole_lines_of_another_form_is_found(results: Path, line: object) -> None:
    journal = min(results.glob("journal/tiny/**/*.jsonl"))
    body = json.dumps(line)[1:].encode()
    checksum = hashlib.blake2b(body, digest_size=8).hexdigest().encode()
    journal.write_bytes(journal.read_bytes() + b'{"checksum":"' + checksum + b'",' + body + b"\n")
    forge_journal(results, journal)
    assert [f.check for f in named(results, "journal/tiny/word-problems")] == ["journals"]


def test_a_figure_of_something_else_is_found_though_every_hash_was_forged_too(
    results: Path,
) -> None:
    path = "figures/rates_by_temperature.vl.json"
    content = json.loads((results / path).read_text())
    (results / path).write_text(json.dumps(content | {"title": "Another"}, indent=2))
    forge(results, path, everywhere=True)
    assert [finding.check for finding in named(results, path)] == ["figures"]


def test_an_item_that_was_taken_out_of_its_dataset_is_missed_by_what_answers_it(
    results: Path,
) -> None:
    path = "datasets/word-problems.parquet"
    rewrite(results / path, lambda table: table[1:])
    forge(results, path, everywhere=True)
    checks = {f.check for f in named(results, "answers/tiny/word-problems.parquet")}
    assert "rows" in checks and named(results, "grades/tiny/word-problems.parquet")


def test_a_report_that_is_older_than_what_it_shows_is_found(results: Path) -> None:
    rewrite(results / "tables/equivalence.parquet", first_row(n=99))
    forge(results, "tables/equivalence.parquet")  # as if it were made again, and alone
    (finding,) = (finding for finding in found(results) if finding.check == "chain")
    assert finding.artifact == "results/report/index.html" and "equivalence" in finding.expected


@pytest.mark.parametrize(
    ("edit", "check", "artifact"),
    [
        (lambda c: c["config"].update(seed=1), "identities", TURNS),
        (lambda c: c["contents"]["models"]["tiny"].update(source="x@y"), "identities", TURNS),
        (lambda c: c["config"]["run"]["temperatures"].append(0.5), "completeness", None),
        (lambda c: c["config"]["run"]["datasets"].append("gsm8k"), None, None),
        (lambda c: c["contents"].update(rubric="0" * 64), "identities", None),
    ],
)
def test_a_study_that_was_asked_for_otherwise_is_found(
    results: Path, edit: Callable[[dict], None], check: str | None, artifact: str | None
) -> None:
    content = json.loads((results / "study.json").read_text())
    edit(content)
    (results / "study.json").write_text(json.dumps(content))
    forge(results, "study.json", everywhere=True)
    if check is None:
        assert main(["audit", str(results), "--to", str(results / "audit")]) == 2
        return
    findings = [finding for finding in found(results) if finding.check == check]
    assert findings and (
        artifact is None or f"results/{artifact}" in {f.artifact for f in findings}
    )


def test_a_model_that_was_moved_to_another_revision_is_found(results: Path) -> None:
    path = results / "models" / "tiny.json"
    content = json.loads(path.read_text())
    content["identity"]["source"] = "folder:of another model"
    path.write_text(json.dumps(content, indent=1))
    forge(results, "models/tiny.json", everywhere=True)
    assert "keys" in {finding.check for finding in named(results, TURNS)}


def test_a_model_without_proofs_is_found(results: Path) -> None:
    path = results / "models" / "tiny.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"proofs": []}, indent=1))
    forge(results, "models/tiny.json", everywhere=True)
    assert [f.check for f in named(results, "models/tiny.json")] == ["proofs"]


def test_a_user_header_that_no_prompt_ends_in_is_found(results: Path) -> None:
    path = results / "models" / "tiny.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"user_header": "<|im_start|>User\n"}, indent=1))
    forge(results, "models/tiny.json", everywhere=True)
    expected = [f.expected for f in audit(results).findings if f.check == "probes"]
    assert expected and all("to end in the user header" in text for text in expected)


def test_a_model_that_runs_its_own_code_is_noted(results: Path) -> None:
    path = results / "study.json"
    content = json.loads(path.read_text())
    content["config"]["models"]["tiny"]["trust_remote_code"] = True
    path.write_text(json.dumps(content))
    assert "trust_remote_code" in {note.check for note in audit(results).notes}


def test_a_renamed_dataset_is_missing_and_an_orphan(results: Path) -> None:
    name = "answers/tiny/word-problems.parquet"
    (results / name).rename(results / "answers/tiny/other.parquet")
    assert named(results, name)[0].check == "completeness"
    assert named(results, "answers/tiny/other.parquet")[0].check == "orphans"


def test_a_planted_key_is_found_and_not_shown(results: Path) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 5
    rewrite(results / TURNS, first_row(text=f"use {key} please"))
    (results / "tables/notes.txt").write_text(f"key: {key}\n")
    findings = found(results)
    places = {finding.artifact for finding in findings if finding.check == "secrets"}
    assert places == {f"results/{TURNS}", "results/tables/notes.txt"}
    assert not any(key in str(finding) for finding in findings)


def test_a_copy_without_journals_is_said_to_be_one(results: Path) -> None:
    shutil.rmtree(results / "journal")
    done = audit(results)
    assert done.findings == []
    why = {of.artifact: of.why for of in done.statuses}
    assert why[f"results/{TURNS}"] == NO_JOURNALS


def test_the_command_writes_what_it_found_and_says_it_in_its_exit_code(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(results), "--to", str(tmp_path)]) == 3  # without data/
    (results / "figures" / "confusion.png").unlink()
    assert main(["audit", str(results), "--to", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "1 finding (1 completeness)" in said.err + said.out
    written = json.loads((tmp_path / "audit.json").read_text())
    assert [f["artifact"] for f in written["findings"]] == ["results/figures/confusion.png"]
    assert "results/figures/confusion.png" in (tmp_path / "audit.html").read_text()


def test_a_folder_that_is_no_study_cannot_be_audited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(tmp_path)]) == 2
    assert "study.json' does not exist" in capsys.readouterr().err


def test_an_altered_input_in_the_project_beside_a_study_is_noted_and_not_accused(
    results: Path, tmp_path: Path
) -> None:
    project = copy_project(tmp_path / "project")
    shutil.copytree(results, project / "results")
    rubric = project / "data" / "rubric_2.yaml"
    rubric.write_text(rubric.read_text().replace("#", "# ", 1) + "\n")
    done = audit(project / "results")
    assert done.findings == []
    assert ("chain", "data/rubric_2.yaml") in [(n.check, n.artifact) for n in done.notes]


def test_verdicts_by_earlier_rules_of_a_judge_are_noted_and_not_accused(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heuristic, "VERSION", heuristic.VERSION + 1)
    monkeypatch.setattr(heuristic, "judge_by_words", lambda *_: Verdict("generic", None))
    found = audit(results)
    assert found.findings == []
    assert [note.artifact for note in found.notes if note.check == "verdicts"] == [
        "judge heuristic"
    ]


def test_what_another_version_made_otherwise_is_set_apart_and_not_accused(
    results: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rewrite(results / "tables" / "rates.parquet", first_row(n_items=1234))
    forge(results, "tables/rates.parquet", everywhere=True)
    assert {f.check for f in found(results)} == {"tables"}  # by the same code: an accusation
    monkeypatch.setattr(study_files, "code_sha256", lambda: "f" * 64)
    done = audit(results)
    assert done.findings == []
    others = [of.artifact for of in done.statuses if "another version of userturn" in of.why]
    assert "results/tables/rates.parquet" in others
    assert main(["audit", str(results), "--to", str(tmp_path)]) == 3
    assert "another version of userturn" in (tmp_path / "audit.html").read_text()


def test_sample_of_a_round_that_was_drawn_before_verdicts_changed_is_not_needed_and_not_accused(
    results: Path,
) -> None:
    path = results / "provenance/sample_for_humans/tiny/word-problems/t0/none.json"
    record = read_record(path)
    assert record is not None
    record["inputs"][f"results/{VERDICTS}"] = "0" * 64  # of an earlier version's verdicts
    write_record(path, record)
    done = audit(results)
    assert done.findings == []
    why = {of.artifact: of.why for of in done.statuses}
    assert why[f"results/{CELL}/human_sample.parquet"] == NOT_NEEDED
    (results / CELL / "human_sample.parquet").unlink()
    assert named(results, f"{CELL}/human_sample.parquet")[0].check == "completeness"


def test_what_no_version_changes_is_found_whatever_code_made_it(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_files, "code_sha256", lambda: "f" * 64)
    rewrite(results / TURNS, first_row(text="What if the train is late?"))
    forge(results, TURNS, everywhere=True)
    assert named(results, TURNS)[0].check == "rows"


def test_printed_tables_that_say_something_else_are_found_with_every_hash_forged(
    results: Path,
) -> None:
    paths = [f"tables/{table}" for table in ("contrasts.tex", "contrasts.md", "anchors.md")]
    for path in paths:
        (results / path).write_text((results / path).read_text().replace("1", "7"))
        forge(results, path, everywhere=True)
    said = {(finding.artifact, finding.check) for finding in found(results)}
    assert said == {(f"results/{path}", "tables") for path in paths}


def test_a_journal_that_no_job_recorded_is_found(results: Path) -> None:
    journal = min(results.glob("journal/tiny/*/*.jsonl"))
    older = journal.with_name("20200101T000000Z-vm-1-00000000.jsonl")
    shutil.copy(journal, older)
    assert named(results, str(older.relative_to(results)))[0].check == "journals"


def test_lines_after_what_a_job_recorded_of_a_journal_are_found(results: Path) -> None:
    journal = min(results.glob("journal/tiny/*/*.jsonl"))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines, lines[0]]))
    assert named(results, str(journal.relative_to(results)))[0].check == "journals"


def test_a_copy_of_a_drawn_round_that_is_gone_is_found(results: Path) -> None:
    (results / "drawn/first/key.parquet").unlink()
    assert named(results, "drawn/first/key.parquet")[0].found == "no such file"


NO_RECORDS = (
    *("[]", "7", '{"checksum": NaN}', '{"rule": "tabulate"}', "", '{"a":' * 2000, "\udcff"),
)
OF_ANOTHER_FORM: tuple[dict[str, object], ...] = (
    {"outputs": {}},
    {"inputs": None},
    {"inputs": {"/etc/passwd": "0" * 64}},
    {"inputs": {"../../elsewhere": "0" * 64}},
    {"inputs": {"results/study.json": "0" * 63 + "?"}},
    {"wildcards": []},
    {"made": {}},
    {"journals": {"results/journal/x.jsonl": 7}},
    {"journals": {"results/journal/x.jsonl": {"n_bytes": "7", "sha256": "0" * 64}}},
)


def test_records_that_are_none_or_of_another_form_are_findings_though_a_checksum_is_right(
    results: Path,
) -> None:
    records = sorted((results / "provenance").rglob("*.json"))
    broken, changed = records[: len(NO_RECORDS)], records[len(NO_RECORDS) :]
    for path, content in zip(broken, NO_RECORDS, strict=True):
        path.write_bytes(content.encode(errors="surrogateescape"))
    for path, changes in zip(changed, OF_ANOTHER_FORM, strict=False):
        record = read_record(path)
        assert record is not None
        write_record(path, record | changes)
    altered = records[: len(NO_RECORDS) + len(OF_ANOTHER_FORM)]
    said = {finding.artifact for finding in found(results) if finding.check == "records"}
    assert {f"results/{path.relative_to(results)}" for path in altered} <= said


def test_an_answer_that_the_model_was_not_shown_is_found_though_plan_and_turns_agree(
    results: Path,
) -> None:
    plan = min(
        path
        for path in results.glob("requests/tiny/word-problems/*/*.parquet")
        if pl.read_parquet(path)["answer"].null_count() == 0
        and read_identity(path) == read_identity(results / TURNS)
    )
    for path in (plan, results / TURNS):
        rewrite(path, first_row(answer="The answer is 42."))
        forge(results, str(path.relative_to(results)), everywhere=True)
    assert {finding.check for finding in named(results, TURNS)} >= {"probes"}


@pytest.fixture
def project(results: Path, finished_study: Path, tmp_path: Path) -> Path:
    """A copy of the study with its project around it."""
    folder = copy_project(tmp_path / "project")
    shutil.copytree(finished_study / "models", folder / "models")
    shutil.copytree(results, folder / "results")
    return folder / "results"


def test_a_study_in_its_project_has_its_sources_at_hand(project: Path, results: Path) -> None:
    assert [note for note in audit(project).notes if note.check == "sources"] == []
    assert {note.check for note in audit(results).notes} == {"sources"}


def test_a_reference_answer_that_the_datasets_file_does_not_have_is_found(project: Path) -> None:
    path = "datasets/word-problems.parquet"
    rewrite(project / path, first_row(reference_answer="42"))
    forge(project, path, everywhere=True)
    assert "sources" in {finding.check for finding in named(project, path)}


def test_labels_that_no_file_of_people_has_are_found(project: Path) -> None:
    path = "humans/first/annotations.parquet"
    key = pl.read_parquet(project / "humans/first/key.parquet").row(0, named=True)
    columns = pl.read_parquet_schema(project / path)
    made_up = {"annotator": "nobody", "label": "generic", "genuine": False, "notes": ""}
    row = {name: (key | made_up).get(name) for name in columns}
    rewrite(project / path, lambda table: pl.DataFrame([row], schema=table.schema))
    forge(project, path, everywhere=True)
    assert "sources" in {finding.check for finding in named(project, path)}
