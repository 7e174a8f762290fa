"""A timestamp tells when which bytes were there, and nothing else passes for one."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.timestamp_authority import new_authority, serving
from userturn.audit.check_signatures import Trusted, check_signatures
from userturn.audit.findings import Finding, Note
from userturn.errors import UserError
from userturn.export.timestamp import stamp, timestamp_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl"),
]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of an authority whose certificate is `authority/certificate.pem`."""
    with serving(tmp_path / "authority") as address:
        yield address


@pytest.fixture
def archive(tmp_path: Path, url: str) -> Path:
    """A dated archive."""
    path = tmp_path / "my results.zip"
    path.write_bytes(b"an archive")
    assert stamp(path, url) == timestamp_of(path)
    return path


def checks(archive: Path, authorities: Path | None) -> list[Finding | Note]:
    return list(check_signatures(archive, Trusted(authorities=authorities)))


def test_a_date_by_an_authority_that_is_trusted_is_noted(archive: Path) -> None:
    (note,) = checks(archive, archive.with_name("authority") / "certificate.pem")
    assert isinstance(note, Note)
    assert note.text.startswith("dated ") and " GMT by an authority in " in note.text


def test_a_date_is_noted_where_no_authority_is_named(archive: Path) -> None:
    (note,) = checks(archive, None)
    assert isinstance(note, Note) and "`--authorities FILE` says" in note.text


def test_other_bytes_under_a_timestamp_are_found(archive: Path) -> None:
    archive.write_bytes(b"another archive")
    (finding,) = checks(archive, None)
    assert isinstance(finding, Finding) and finding.found == "a timestamp of other bytes, or none"


def test_a_timestamp_that_is_none_is_found(archive: Path) -> None:
    timestamp_of(archive).write_bytes(b"yesterday")
    (finding,) = checks(archive, None)
    assert isinstance(finding, Finding)


def test_an_authority_that_nobody_trusts_is_found(archive: Path, tmp_path: Path) -> None:
    (finding,) = checks(archive, new_authority(tmp_path / "other"))
    assert isinstance(finding, Finding) and finding.found.endswith(" GMT by somebody else")


def test_a_missing_timestamp_matters_only_to_who_asks_for_one(archive: Path) -> None:
    timestamp_of(archive).unlink()
    assert checks(archive, None) == []
    (finding,) = checks(archive, archive.with_name("authority") / "certificate.pem")
    assert isinstance(finding, Finding) and finding.found == "no timestamp"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1:1", "was written but not dated by .*refused"),
        ("no address", "was written but not dated by .*unknown url type"),
    ],
)
def test_an_authority_that_gives_no_timestamp_is_named_in_one_sentence(
    tmp_path: Path, address: str, said: str
) -> None:
    path = tmp_path / "results.zip"
    path.write_bytes(b"an archive")
    with pytest.raises(UserError, match=said):
        stamp(path, address)
    assert not timestamp_of(path).exists()


def test_a_reply_about_other_bytes_is_no_timestamp(archive: Path, url: str) -> None:
    (archive.with_name("authority") / "repeats itself").touch()
    other = archive.with_name("other.zip")
    other.write_bytes(b"another archive")
    with pytest.raises(UserError, match="is no timestamp of this archive"):
        stamp(other, url)


def test_certificates_that_are_not_there_are_named(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist; expected a file of certificates"):
        checks(archive, tmp_path / "none.pem")
