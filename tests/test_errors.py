"""A full disk is told with its folder and the variable that moves what is on it."""

import errno
import os
import re
import subprocess
import sys
import tomllib
from collections import namedtuple
from importlib.metadata import requires
from pathlib import Path

import pytest

from tests.support.snakemake_runs import ROOT
from userturn import errors
from userturn.errors import forget_errors, near_miss, near_path, note_error, noted_error, sentence

Usage = namedtuple("Usage", "free")


def test_folder_on_a_full_disk_is_named_with_what_moves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("USERTURN_CACHE", str(cache / "not" / "there" / "yet"))
    cache.mkdir()
    # The nearest folder that exists is asked: only that of the cache is full.
    monkeypatch.setattr(
        errors.shutil, "disk_usage", lambda path: Usage(0 if path == cache else 10**12)
    )
    said = sentence(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert said is not None
    assert f"in '{cache}/not/there/yet' (USERTURN_CACHE moves it): free some space" in said
    assert "HF_HOME" not in said


def test_every_package_of_an_extra_has_it_and_others_come_with_one_of_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        package.replace("-", "_"): extra
        for extra, packages in project["optional-dependencies"].items()
        for package in packages
        if not package.startswith("userturn[")
    }
    assert declared.items() <= errors.EXTRAS.items()
    with_transformers = {re.split(r"\W", one)[0] for one in requires("transformers") or ()}
    others = errors.EXTRAS.keys() - declared.keys()
    assert others <= with_transformers
    assert {errors.EXTRAS[name] for name in others} == {"transformers"}


def test_a_package_of_an_extra_is_named_with_what_installs_it() -> None:
    said = sentence(ModuleNotFoundError("No module named 'peft'", name="peft"))
    assert said is not None
    assert "needs the package 'peft', which is not installed" in said
    assert "pip install 'userturn[posttrain]'" in said
    assert sentence(ModuleNotFoundError("No module named 'mine'", name="mine")) is None


def test_a_full_disk_inside_the_results_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "results" / "journal" / "tiny"
    inside.parent.mkdir(parents=True)
    inside.symlink_to("/dev")  # another disk than that of files, on every system
    monkeypatch.setattr(
        errors.shutil, "disk_usage", lambda path: Usage(0 if path == inside else 10**12)
    )
    assert errors.full_folders(tmp_path / "results") == (
        f"'{inside}' (a disk of its own; put a larger one there)"
    )


def test_the_folder_of_a_file_that_no_run_writes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors.shutil, "disk_usage", lambda path: Usage(10**12))
    said = sentence(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/other/results.zip"))
    assert said is not None and "in '/other': free some space" in said


def test_a_full_disk_that_only_the_command_names_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "copy"
    monkeypatch.setattr(
        errors.shutil, "disk_usage", lambda path: Usage(0 if path == tmp_path else 10**12)
    )
    said = sentence(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), [named])
    assert said is not None and f"in '{named}' (named in the command; name a place on" in said


def test_a_library_s_own_words_for_a_full_disk_are_known() -> None:
    error = RuntimeError(
        "Error while serializing: I/O error: No space left on device (os error 28)"
    )
    assert errors.is_full_disk(error)
    assert not errors.is_full_disk(RuntimeError("out of memory"))


def test_too_many_open_files_are_told_with_the_limit() -> None:
    said = sentence(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    assert said is not None and "`ulimit -n 4096`" in said


ATTEMPT = """
import errno, os
from pathlib import Path
from types import SimpleNamespace
from userturn.errors import ConfigError
from userturn.errors import UserError
from userturn.workflow.job_record import recorded
Path("logs").mkdir(exist_ok=True)
with recorded(SimpleNamespace(log=["logs/job.log"])):
    Path("tries").open("a").write("x")
    raise {error}
"""


@pytest.mark.parametrize(
    ("error", "n_tries"),
    [
        ("ConfigError('broken')", 1),
        ("OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))", 1),
        ("UserError('stopped at the time limit')", 2),
        ("RuntimeError('out of memory')", 2),
    ],
)
def test_only_an_error_that_stays_is_not_tried_again(
    error: str, n_tries: int, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", ATTEMPT.format(error=error)]
    for _ in range(2):
        assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 1
    assert (tmp_path / "tries").read_text() == "x" * n_tries
    said = (tmp_path / "logs" / "job.log").read_text()
    assert ("(not tried again)" in said) == (n_tries == 1)


def test_a_new_run_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    note_error("logs/sweep/m/1of1.log", "the disk is full")
    assert noted_error("logs/sweep/m/1of1.log") == "the disk is full"
    forget_errors()
    assert noted_error("logs/sweep/m/1of1.log") is None


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("tyni", ", did you mean 'tiny'?"),  # two letters swapped
        ("GSM8K", ", did you mean 'gsm8k'?"),
        ("word-problem", ", did you mean 'word-problems'?"),
        ("other", "; expected one of: gsm8k, tiny, word-problems"),
    ],
)
def test_nearest_name_is_told_or_else_all(name: str, near: str) -> None:
    assert near_miss(name, ["word-problems", "tiny", "gsm8k"]) == near


def test_where_there_are_no_names_that_is_said() -> None:
    assert near_miss("other", []) == "; none is defined"


def test_nearest_path_is_found_at_every_depth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data/demo").mkdir(parents=True)
    (tmp_path / "data/demo/rows.jsonl").touch()
    assert near_path("./dta/demo/row.jsonl") == ", did you mean './data/demo/rows.jsonl'?"
    assert near_path(tmp_path / "data/dem") == f", did you mean '{tmp_path}/data/demo'?"
    assert near_path("other/rows.jsonl") == near_path("data/demo/rows.jsonl") == ""
