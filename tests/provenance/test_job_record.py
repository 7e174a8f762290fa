"""Every file that a job writes is in its record, and no other job's file is."""

from pathlib import Path
from threading import Thread

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.storage.atomic_files import files_written, write_text
from userturn.storage.journal import Writer

SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))


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
    records = "with recorded(snakemake):" in text or "make_tables_of_job(snakemake)" in text
    assert records == (script.stem != "audit")
