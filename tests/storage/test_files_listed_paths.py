"""All that is in a folder is listed, or it is told that something is not."""

from pathlib import Path

import pytest

from userturn.storage.files import paths_below


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
