"""An archive's names, sizes and tables are checked before anything is unpacked or read."""

import json
import os
import stat
import tarfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from userturn.errors import UserError
from userturn.export.read_archive import LONGEST, SMALL, check_tables, opened, read_left_out


def archive(path: Path, *members: str | ZipInfo) -> Path:
    with ZipFile(path, "w") as made:
        for member in members:
            made.writestr(member, "content")
    return path


@pytest.mark.slow
def test_an_archive_that_would_fill_a_disk_is_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with (
        ZipFile(bomb, "w", ZIP_DEFLATED, compresslevel=1) as made,
        made.open("results/study.json", "w") as member,
    ):
        for _ in range(1100):
            member.write(bytes(1 << 20))
    with pytest.raises(UserError, match="was not opened: 1 members of"), opened(bomb):
        pass


def test_folder_is_opened_as_it_is(tmp_path: Path) -> None:
    with opened(tmp_path) as results:
        assert results == tmp_path


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("journal/m/d/a.jsonl", None),  # a pipe, which would be waited for
        ("provenance/a.json", "/dev/zero"),  # which would be read without end
        ("tables/rates.csv", "gone.csv"),
        ("README.md", "README.md"),
    ],
)
def test_a_folder_with_what_is_neither_file_nor_folder_is_refused_before_it_is_read(
    tmp_path: Path, name: str, target: str | None
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    if target is None:
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to(target)
    with pytest.raises(UserError, match="neither a file nor a folder"), opened(tmp_path):
        pass


def test_a_link_by_which_an_editor_locks_a_file_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / ".#rates.csv").symlink_to("user@host.4711")
    with opened(tmp_path) as results:
        assert results == tmp_path


def test_links_to_files_and_folders_are_followed(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "a.parquet").write_text("content")
    results = tmp_path / "results"
    results.mkdir()
    (results / "a.parquet").symlink_to("../cache/a.parquet")
    (results / "journal").symlink_to("../cache")
    with opened(results) as opened_results:
        assert (opened_results / "a.parquet").read_text() == "content"


def test_archive_is_unpacked_for_as_long_as_it_is_read(tmp_path: Path) -> None:
    with opened(archive(tmp_path / "a.zip", "results/study.json", "data/rubric.yaml")) as results:
        assert (results / "study.json").read_text() == "content"
        assert (results.parent / "data" / "rubric.yaml").is_file()
    assert not results.exists()


@pytest.mark.parametrize(
    "name", ["../out.txt", "results/../../out.txt", "/tmp/out.txt", "..\\out.txt", "C:/out.txt"]
)
def test_member_that_leads_out_of_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", "results/study.json", name)
    with pytest.raises(UserError, match="leads out of the folder"), opened(path):
        pass


def test_list_of_what_was_left_out_is_read_from_beside_the_results(tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert read_left_out(results) == {}
    listed = [{"path": "results/a.parquet", "n_bytes": 3, "sha256": "0f", "reason": "private"}]
    (tmp_path / "left_out.json").write_text(json.dumps({"files": listed}))
    assert read_left_out(results) == {"results/a.parquet": "0f"}
    numbers = '{"files": [{"path": 1, "sha256": []}]}'
    for text in ('{"files": [{"path": "x"}]}', numbers, "[" * 100_000, "[]", "", "\xff"):
        (tmp_path / "left_out.json").write_text(text)
        with pytest.raises(UserError, match="is not the list that `userturn export` writes"):
            read_left_out(results)


@pytest.mark.parametrize("around", ["", "my-study-1.0/"])
@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz", "tar.xz", "folder"])
def test_a_study_is_found_in_every_usual_form(form: str, around: str, tmp_path: Path) -> None:
    place = tmp_path / "made" / around / "results"
    place.mkdir(parents=True)
    (place / "study.json").write_text("content")
    path = tmp_path / "made"
    if form == "zip":
        path = archive(tmp_path / "a.zip", f"{around}results/study.json")
    elif form != "folder":
        path = tmp_path / f"a.{form}"
        mode = "w:" + form.partition(".")[2]
        with tarfile.open(path, mode) as packed:  # type: ignore[call-overload]
            packed.add(tmp_path / "made", arcname=".")
    with opened(path) as results:
        assert (results / "study.json").read_text() == "content"


def test_a_link_in_a_tar_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as packed:
        link = tarfile.TarInfo("results/study.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        packed.addfile(link)
    with pytest.raises(UserError, match="is a link"), opened(tmp_path / "a.tar.gz"):
        pass


def test_link_is_refused(tmp_path: Path) -> None:
    link = ZipInfo("results/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(UserError, match="is a link"), opened(archive(tmp_path / "a.zip", link)):
        pass


def test_member_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", "results/study.json", "results/Study.json")
    with pytest.raises(UserError, match="occurs twice"), opened(path):
        pass


@pytest.mark.parametrize(
    "name", ["./results/study.json", "results//study.json", "results/./Study.json"]
)
def test_member_that_is_unpacked_over_another_is_refused(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as packed:
        for member in ("results/study.json", name):
            packed.addfile(tarfile.TarInfo(member))
    with pytest.raises(UserError, match="occurs twice"), opened(tmp_path / "a.tar"):
        pass


def test_several_studies_in_one_place_are_refused_and_not_chosen_from(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", "a/results/study.json", "b/results/study.json")
    said = r"found 2 studies \(a/results, b/results\)"
    with pytest.raises(UserError, match=said), opened(path):
        pass


def test_a_pipe_is_no_archive_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zip")
    with pytest.raises(UserError, match="neither a file nor a folder"), opened(tmp_path / "a.zip"):
        pass


def test_what_is_no_archive_or_has_no_results_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no archive")
    for path, said in (
        (tmp_path / "a.txt", "neither"),
        (tmp_path / "gone.zip", "gone.zip' does not exist; expected the results folder"),
        (archive(tmp_path / "b.zip", "other/file"), "has no file 'results/study.json'"),
    ):
        with pytest.raises(UserError, match=said), opened(path):
            pass


def test_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", "results/study.json")
    path.write_bytes(path.read_bytes().replace(b"content", b"altered"))
    with pytest.raises(UserError, match="download the archive again"), opened(path):
        pass


TEXT = "x" * 10_000
ENOUGH = SMALL // len(TEXT) + 1  # texts of this length


def often(text: str, n: int) -> pa.Array:
    """Return a column that has one text in each of its rows, once in the file."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([text]))


def in_lists(texts: pa.Array) -> pa.Array:
    """Return texts as conversations are stored: a list of objects in each row."""
    offsets = pa.array(range(len(texts) + 1), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([texts], ["content"]))


def write(column: pa.Array, folder: Path) -> None:
    pq.write_table(pa.table({"text": column}), folder / "turns.parquet", store_schema=False)


def test_a_study_whose_tables_hold_what_jobs_write_is_read(tmp_path: Path) -> None:
    write(often(TEXT, ENOUGH - 1), tmp_path)
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1")
    check_tables(tmp_path)


@pytest.mark.parametrize(
    "column",
    [
        often("x" * (LONGEST + 1), 1),
        often(TEXT, ENOUGH),
        in_lists(often(TEXT, ENOUGH)),
        pa.nulls(SMALL // 8 + 1, pa.bool_()),
    ],
    ids=["a text without end", "many texts", "many conversations", "many rows"],
)
def test_a_small_file_of_many_bytes_is_refused(column: pa.Array, tmp_path: Path) -> None:
    write(column, tmp_path)
    with pytest.raises(UserError, match=r"turns\.parquet' was not opened: it has"):
        check_tables(tmp_path)
