"""A signature tells who signed which bytes, and nothing else passes for one."""

import shutil
import subprocess
from pathlib import Path

import pytest

from userturn.audit.check_signatures import Trusted, check_signatures
from userturn.audit.findings import Finding, Note
from userturn.errors import UserError
from userturn.export.signature import sign, signature_of, signer_of

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")


def new_key(path: Path) -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


def allow(key: Path, name: str) -> Path:
    """Write a file that allows one key and return its path."""
    signers = key.with_name(f"signers_{name}")
    signers.write_text(f"{name} {key.with_suffix('.pub').read_text()}")
    return signers


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return new_key(tmp_path / "key")


@pytest.fixture
def archive(tmp_path: Path, key: Path) -> Path:
    """A signed archive."""
    path = tmp_path / "my results.zip"
    path.write_bytes(b"an archive")
    assert sign(path, key) == signature_of(path)
    return path


def checks(archive: Path, signers: Path | None) -> list[Finding | Note]:
    return list(check_signatures(archive, Trusted(signers=signers)))


def test_a_signer_who_is_allowed_is_named(archive: Path, key: Path) -> None:
    signers = allow(key, "ada@example.org")
    assert signer_of(archive, signers) == "ada@example.org"
    (note,) = checks(archive, signers)
    assert isinstance(note, Note) and note.text.endswith(" of ada@example.org")


def test_a_signature_is_noted_with_its_key_where_no_signer_is_named(archive: Path) -> None:
    (note,) = checks(archive, None)
    assert isinstance(note, Note) and "SHA256:" in note.text


def test_other_bytes_under_a_signature_are_found(archive: Path, key: Path) -> None:
    archive.write_bytes(b"an archive.")
    for signers in (None, allow(key, "ada")):
        (finding,) = checks(archive, signers)
        assert isinstance(finding, Finding)
        assert finding.found == "a signature of other bytes, or none"


def test_a_key_that_nobody_allowed_is_found(archive: Path, tmp_path: Path) -> None:
    signers = allow(new_key(tmp_path / "other"), "eve")
    assert signer_of(archive, signers) is None
    (finding,) = checks(archive, signers)
    assert isinstance(finding, Finding) and finding.found.startswith("signed with the key SHA256:")


def test_a_signature_for_another_purpose_does_not_count(archive: Path, key: Path) -> None:
    signature_of(archive).unlink()
    command = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", "git", str(archive)]
    subprocess.run(command, check=True, capture_output=True)
    assert isinstance(checks(archive, allow(key, "ada"))[0], Finding)


def test_a_missing_signature_matters_only_to_who_asks_for_one(archive: Path, key: Path) -> None:
    signature_of(archive).unlink()
    assert checks(archive, None) == []
    (finding,) = checks(archive, allow(key, "ada"))
    assert isinstance(finding, Finding) and finding.found == "no signature"


def test_what_cannot_sign_or_be_read_is_said_in_one_sentence(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="was written but not signed"):
        sign(archive, tmp_path / "no key")
    with pytest.raises(UserError, match="does not exist; expected a file of allowed signers"):
        signer_of(archive, tmp_path / "nobody")
