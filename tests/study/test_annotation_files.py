"""Every file below a round's folder is one with labels, or named."""

import os
from pathlib import Path

import pytest

from userturn.errors import UserError
from userturn.study.annotation_files import annotation_files, files_of_no_round

FOLDER = Path("data/annotations/first")


@pytest.fixture(autouse=True)
def in_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FOLDER.mkdir(parents=True)


def put(*names: str) -> list[str]:
    for name in names:
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text("x")
    return sorted(str(FOLDER / name) for name in names)


def test_files_of_any_name_and_in_any_folder_below_a_round_are_given() -> None:
    names = ["anna.csv", "ben.CSV", "cara.tsv", "dora.JSON", "emil/emil.csv", "fritz.csv.txt"]
    given = put(*names, ".gina.csv", "without an end", "a/b/c.xlsx", "[x] {y}.csv", "Zoë.csv")
    put(".DS_Store", "._anna.csv", "emil/Thumbs.db", "__MACOSX/anna.csv", ".~lock.anna.csv#")
    assert annotation_files("first") == given
    assert annotation_files("second") == []


def test_link_to_a_file_is_followed_and_one_to_a_folder_or_to_nothing_is_refused() -> None:
    put("anna.csv")
    (FOLDER / "ben.csv").symlink_to("anna.csv")
    assert annotation_files("first") == [f"{FOLDER}/anna.csv", f"{FOLDER}/ben.csv"]
    for target in (".", "nowhere.csv"):
        (FOLDER / "link").symlink_to(target)
        with pytest.raises(UserError, match="first/link' is a link to a folder or to nothing"):
            annotation_files("first")
        (FOLDER / "link").unlink()


def test_pipe_and_name_that_is_not_utf8_are_refused() -> None:
    os.mkfifo(FOLDER / "pipe")
    with pytest.raises(UserError, match="'data/annotations/first/pipe' is"):
        annotation_files("first")
    (FOLDER / "pipe").unlink()
    (FOLDER / os.fsdecode(b"Zo\xeb.csv")).write_text("x")
    with pytest.raises(UserError, match=r"first/Zo\?.csv' is not UTF-8; rename"):
        annotation_files("first")


def test_folder_of_a_round_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "anna.csv").write_text("x")
    Path("data/annotations/second").symlink_to(tmp_path / "elsewhere")
    assert annotation_files("second") == ["data/annotations/second/anna.csv"]
    assert files_of_no_round(["first", "second"]) == []


def test_what_is_in_the_folder_of_no_round_is_named() -> None:
    put("anna.csv", "../README.md", "../ben.csv", "../First/cara.csv", "../.DS_Store", "../second")
    Path("data/annotations/empty").mkdir()
    unread = ["First", "ben.csv", "second"]
    assert files_of_no_round(["first", "second"]) == [f"data/annotations/{name}" for name in unread]
