"""A full disk is told with its folder and the variable that moves what is on it."""

import errno
import os
from collections import namedtuple
from pathlib import Path

import pytest

from userturn import disk_space
from userturn.logs import sentence

Usage = namedtuple("Usage", "free")


def test_folder_on_a_full_disk_is_named_with_what_moves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("USERTURN_CACHE", str(cache / "not" / "there" / "yet"))
    cache.mkdir()
    # The nearest folder that exists is asked: only that of the cache is full.
    monkeypatch.setattr(
        disk_space.shutil, "disk_usage", lambda path: Usage(0 if path == cache else 10**12)
    )
    said = sentence(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert said is not None
    assert f"in '{cache}/not/there/yet' (USERTURN_CACHE moves it): free some space" in said
    assert "HF_HOME" not in said


def test_a_full_disk_inside_the_results_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "results" / "journal" / "tiny"
    inside.parent.mkdir(parents=True)
    inside.symlink_to("/dev")  # another disk than that of files, on every system
    monkeypatch.setattr(
        disk_space.shutil, "disk_usage", lambda path: Usage(0 if path == inside else 10**12)
    )
    assert disk_space.full_folders(tmp_path / "results") == (
        f"'{inside}' (a disk of its own; put a larger one there)"
    )


def test_the_folder_of_a_file_that_no_run_writes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_space.shutil, "disk_usage", lambda path: Usage(10**12))
    said = sentence(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/other/results.zip"))
    assert said is not None and "in '/other': free some space" in said


def test_a_full_disk_that_only_the_command_names_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "copy"
    monkeypatch.setattr(
        disk_space.shutil, "disk_usage", lambda path: Usage(0 if path == tmp_path else 10**12)
    )
    said = sentence(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), [named])
    assert said is not None and f"in '{named}' (named in the command; name a place on" in said


def test_a_library_s_own_words_for_a_full_disk_are_known() -> None:
    error = RuntimeError(
        "Error while serializing: I/O error: No space left on device (os error 28)"
    )
    assert disk_space.is_full_disk(error)
    assert not disk_space.is_full_disk(RuntimeError("out of memory"))


def test_too_many_open_files_are_told_with_the_limit() -> None:
    said = sentence(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    assert said is not None and "`ulimit -n 4096`" in said
