"""Files that a user gave are read, or refused in one sentence that names them."""

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from userturn.errors import UserError
from userturn.storage.files import copy_folder, given_object, given_text, paths_below
from userturn.workflow.run_folder import release_abandoned_lock


@pytest.mark.parametrize(
    ("content", "read", "said"),
    [
        (b"caf\xe9", given_text, "byte 3 is not UTF-8"),
        (b'{"a": ', given_object, "is not JSON"),
        (b"[1]", given_object, "holds a list, expected an object"),
        (b"[" * 100_000, given_object, "is not JSON"),
        (None, given_text, "cannot be read .No such file"),
    ],
)
def test_file_that_cannot_be_read_is_named_in_one_sentence(
    content: bytes | None, read: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "given.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=said) as refused:
        read(path)
    assert str(refused.value).startswith(f"'{path}'")
    assert "\n" not in str(refused.value)


def test_file_that_can_be_read_is_returned(tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    path.write_text('{"a": "\u00e9"}', "utf-8")
    assert given_text(path) == '{"a": "\u00e9"}'
    assert given_object(path) == {"a": "\u00e9"}


def test_copy_of_a_read_only_folder_can_be_written_and_keeps_the_times_of_files(
    tmp_path: Path,
) -> None:
    inner = tmp_path / "ours" / "inner"
    inner.mkdir(parents=True)
    text = inner / "text.txt"
    text.write_text("a")
    for path in (text, inner, inner.parent):
        path.chmod(path.stat().st_mode & ~0o222)
    copy_folder(inner.parent, tmp_path / "theirs")
    copied = [tmp_path / "theirs", tmp_path / "theirs/inner", tmp_path / "theirs/inner/text.txt"]
    assert all(path.stat().st_mode & stat.S_IWUSR for path in copied)
    assert copied[-1].stat().st_mtime_ns == text.stat().st_mtime_ns


def test_what_is_left_out_is_not_copied_and_what_is_there_stays(tmp_path: Path) -> None:
    for name in ("ours/a.txt", "ours/b.csv", "theirs/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    copy_folder(tmp_path / "ours", tmp_path / "theirs", "*.csv")
    assert sorted(path.name for path in (tmp_path / "theirs").iterdir()) == ["a.txt", "c.txt"]


def test_files_folders_and_links_are_listed_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "a").touch()
    (tmp_path / "z").symlink_to(tmp_path / "b")
    assert paths_below(tmp_path) == [tmp_path / name for name in ("a", "b", "b/c", "z")]


def test_a_folder_that_cannot_be_read_is_told_and_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        paths_below(tmp_path / "gone")
    (tmp_path / "locked").mkdir(mode=0)
    try:
        next((tmp_path / "locked").iterdir(), None)
    except PermissionError:  # for others than root
        with pytest.raises(PermissionError, match="locked"):
            paths_below(tmp_path)


HOLD = """
import sys
from pathlib import Path
from userturn.workflow.run_folder import release_abandoned_lock
release_abandoned_lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def snakemake_lock(folder: Path) -> Path:
    lock = folder / "locks" / "0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/x\n")
    return lock


def owner(folder: Path) -> "subprocess.Popen[str]":
    """Start a driver that holds its lock until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_lock_of_a_killed_owner_is_released(tmp_path: Path) -> None:
    with owner(tmp_path) as process:
        lock = snakemake_lock(tmp_path)
        process.kill()
    assert release_abandoned_lock(tmp_path)
    assert not lock.exists()


def test_lock_of_a_living_owner_is_kept(tmp_path: Path) -> None:
    with owner(tmp_path) as process:
        lock = snakemake_lock(tmp_path)
        assert not release_abandoned_lock(tmp_path)
        assert lock.exists()
        process.kill()


def test_lock_taken_on_another_host_is_kept(tmp_path: Path) -> None:
    lock = snakemake_lock(tmp_path)
    (tmp_path / "driver.lock").write_text("another-host")
    assert not release_abandoned_lock(tmp_path)
    assert lock.exists()


def test_first_run_releases_nothing(tmp_path: Path) -> None:
    assert not release_abandoned_lock(tmp_path / "new")
