"""Every file that a job writes is in its record, and no other job's file is."""

import json
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.storage.files import files_written, write_text
from userturn.storage.hashing import file_sha256, fingerprint
from userturn.storage.journal import Writer
from userturn.workflow.job_record import read_record

JOB = """
from types import SimpleNamespace
from userturn.workflow.job_record import recorded
class Named(dict):
    __getattr__ = dict.__getitem__
names = Named(model="m", shard="1of1")
with recorded(
    SimpleNamespace(
        rule="sweep", log=["logs/sweep/m/1of1.log"], wildcards=names, input=[], params={},
        output=["results/sweeps/m/1of1.json"],
    )
):
    pass
"""
LEFT = [  # by a sweep that was killed, or that failed, before it was recorded
    "results/requests/m/d/abc/1of1.parquet",
    "results/served/m/1of1.json",
    "results/sweeps/m/finished/1of1.json",
]
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))


MODEL = "results/models/m.json"
WRITER = JOB.replace("results/sweeps/m/1of1.json", MODEL)
READERS = [
    JOB.replace("input=[]", f"input=['{MODEL}', 'data.json']").replace("    pass", f"    {read}")
    for read in (
        f"import json; json.load(open('{MODEL}'))",
        f"import polars; polars.read_parquet('{MODEL}')",
    )
]


def test_files_of_every_kind_and_thread_are_noted_until_the_block_ends(tmp_path: Path) -> None:
    write_text("", tmp_path / "before")
    with files_written() as written:
        write_text("", tmp_path / "text")
        thread = Thread(target=write_text, args=("", tmp_path / "thread"))
        thread.start()
        thread.join()
        with Writer(tmp_path) as writer:
            writer.append({"key": "a"})
    write_text("", tmp_path / "after")
    assert written == {tmp_path / "text", tmp_path / "thread", writer.path}


def test_file_that_could_not_be_written_is_not_noted(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with files_written() as written, pytest.raises(OSError, match="folder"):
        write_text("", tmp_path / "folder")
    assert written == set()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_of_a_rule_records_what_it_writes(script: Path) -> None:
    # The audit is no artifact: it is written beside the results, and no rule reads it.
    text = script.read_text()
    records = "run_job(snakemake)" in text
    assert records == (script.stem != "audit")


def test_a_sweep_also_records_the_plans_and_notes_that_a_killed_one_left(tmp_path: Path) -> None:
    for path in (*LEFT, "results/sweeps/m/1of1.json", "logs/sweep/m/1of1.log"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    for content in ("", "of a later sweep"):
        (tmp_path / LEFT[2]).write_text(content)
        subprocess.run([sys.executable, "-c", JOB], cwd=tmp_path, check=True)
        record = read_record(tmp_path / "results/provenance/sweep/m/1of1.json")
        assert record is not None and sorted(record["beside"]) == LEFT
        assert record["beside"][LEFT[2]] == file_sha256(tmp_path / LEFT[2])


def test_a_job_that_cannot_read_an_altered_file_says_which_one_to_delete(tmp_path: Path) -> None:
    made, log = tmp_path / MODEL, tmp_path / "logs/sweep/m/1of1.log"
    for path in (made, log):
        path.parent.mkdir(parents=True)
        path.write_text("{")
    subprocess.run([sys.executable, "-c", WRITER], cwd=tmp_path, check=True)

    def said(reader: str) -> list[str]:
        assert subprocess.run([sys.executable, "-c", reader], cwd=tmp_path).returncode == 1
        return log.read_text().splitlines()

    # The file is as it was made, so the code is wrong.
    assert said(READERS[0])[0].startswith("Traceback")
    made.write_text("[")
    for reader in READERS:
        (line,) = said(reader)
        assert line.startswith(f"error: {MODEL}: damaged, or not what a job wrote there; delete it")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("results/tables/rates.csv", True),
        ("results/" + "a" * 255, True),
        ("results/" + "a" * 256, False),  # no file system has such a name
        ("/etc/passwd", False),
        ("results/../../secret", False),
    ],
)
def test_a_record_names_only_files_that_a_project_can_have(
    tmp_path: Path, name: str, is_one: bool
) -> None:
    record = {
        "schema_version": "1",
        "rule": "tabulate",
        "wildcards": {},
        "identity": None,
        "inputs": {},
        "outputs": {name: "0" * 64},
        "beside": {},
        "journals": {},
        "made": {"code_sha256": "", "commit": None},
    }
    text = json.dumps({"checksum": fingerprint(record), **record})
    (tmp_path / "record.json").write_text(text)
    assert (read_record(tmp_path / "record.json") is not None) == is_one


def test_record_of_a_sweep_has_the_engines_of_its_earlier_runs_too(tmp_path: Path) -> None:
    note = "from userturn.models.engine_account import note_engine; note_engine({'runner': '%s'})\n"
    marker = tmp_path / "results/sweeps/m/1of1.json"
    for path in (marker, tmp_path / "logs/sweep/m/1of1.log"):
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    for before in (note % "V1", note % "V2", note % "V2", ""):
        subprocess.run([sys.executable, "-c", before + JOB], cwd=tmp_path, check=True)
    record = read_record(tmp_path / "results/provenance/sweep/m/1of1.json")
    assert record is not None
    assert record["made"]["engines"] == [{"runner": "V1"}, {"runner": "V2"}]
