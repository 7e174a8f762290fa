"""A copy of a folder can be changed, whatever may be done with the original."""

import stat
from pathlib import Path

from userturn.storage.files import copy_folder


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
