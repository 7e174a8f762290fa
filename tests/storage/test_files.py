"""Files that a user gave are read, or refused in one sentence that names them."""

import stat
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from userturn.errors import UserError
from userturn.storage.files import (
    copy_folder,
    paths_below,
    read_artifact,
    read_identity,
    read_json,
    read_text,
)
from userturn.storage.table_files import write_table


@pytest.mark.parametrize(
    ("content", "read", "said"),
    [
        (b"caf\xe9", read_text, "byte 3 is not UTF-8"),
        (b'{"a": ', read_json, "is not JSON"),
        (b"[1]", read_json, "holds a list, expected an object"),
        (b"[" * 100_000, read_json, "is not JSON"),
        (None, read_text, "cannot be read .No such file"),
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
    assert read_text(path) == '{"a": "\u00e9"}'
    assert read_json(path) == {"a": "\u00e9"}


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


def test_a_table_says_the_same_of_itself_by_polars_and_by_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, damaged = tmp_path / "table.parquet", tmp_path / "damaged.parquet"
    write_table(pl.DataFrame({"text": ["é"] * 3}), whole, "i", more="é")
    damaged.write_bytes(whole.read_bytes()[:-20])
    by_pyarrow = read_artifact(whole)
    assert (by_pyarrow["identity"], by_pyarrow["more"], read_artifact(damaged)) == ("i", "é", {})
    monkeypatch.delitem(sys.modules, pa.__name__)  # as in most jobs
    assert read_artifact(whole) == by_pyarrow
    assert read_artifact(damaged) == read_artifact(tmp_path / "none.parquet") == {}
    assert read_identity(whole) == "i"
    assert pa.__name__ not in sys.modules
