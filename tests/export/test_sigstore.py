"""A signature with an account tells who signed which bytes, and nothing else passes for one.

The archive was signed with Sigstore's public service, and is checked by its own client. Signing
needs that service, so there a small program stands for the client.
"""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from userturn.audit.check_signatures import Trusted, check_signatures
from userturn.audit.findings import Finding, Note
from userturn.cli.main import main
from userturn.errors import UserError
from userturn.export.sigstore import (
    Account,
    bundle_of,
    is_signed_with,
    sign_with_account,
    signed_sha256,
)
from userturn.storage.hashing import file_sha256

SIGNED = Path(__file__).parent / "sigstore" / "signed.zip"
WORKFLOW = (
    "https://github.com/trailofbits/rfc8785.py/.github/workflows/release.yml@refs/tags/v0.1.2"
)
SIGNER = Account(WORKFLOW, "https://token.actions.githubusercontent.com")
OTHERS = [
    SIGNER._replace(identity="ada@example.org"),
    SIGNER._replace(issuer="https://accounts.google.com"),
]
CLIENT = """#!/bin/sh
# Called as: sigstore sign --overwrite --bundle BUNDLE ARCHIVE
digest='"digest": "'$(openssl dgst -sha256 -binary "$5" | base64)'"'
echo '{"messageSignature": {"messageDigest": {"algorithm": "SHA2_256", '$digest'}}}' > "$4"
"""


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A copy of the signed archive, with its bundle beside it."""
    path = tmp_path / "my results.zip"
    shutil.copy(SIGNED, path)
    shutil.copy(bundle_of(SIGNED), bundle_of(path))
    return path


def only(archive: Path, account: Account | None) -> Finding | Note:
    (said,) = check_signatures(archive, Trusted(account=account))
    return said


def becomes(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a script be the client."""
    client = folder / "programs" / "sigstore"
    client.parent.mkdir()
    client.write_text(script)
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}:/usr/bin:/bin")


def test_the_account_that_signed_is_named(archive: Path) -> None:
    said = only(archive, SIGNER)
    assert isinstance(said, Note)
    assert said.text == f"signed with an account of {SIGNER.issuer}: {WORKFLOW}"


@pytest.mark.parametrize("other", OTHERS)
def test_another_account_or_issuer_is_found_and_a_command_tells_why(
    archive: Path, other: Account
) -> None:
    said = only(archive, other)
    assert isinstance(said, Finding)
    done = subprocess.run(said.found.split("`")[1], shell=True, capture_output=True, text=True)
    assert done.returncode == 1
    assert "SANs do not match" in done.stderr or "OIDCIssuer" in done.stderr


def test_a_signature_is_noted_where_no_account_is_named(archive: Path) -> None:
    said = only(archive, None)
    assert isinstance(said, Note) and "`--identity WHO --issuer URL` says" in said.text


def test_other_bytes_under_a_signature_are_found(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes() + b"\0")
    for account in (None, SIGNER):
        said = only(archive, account)
        assert isinstance(said, Finding) and said.found == "a signature of other bytes, or none"


def test_a_bundle_that_is_made_to_name_other_bytes_is_found(archive: Path) -> None:
    archive.write_bytes(b"another archive")
    bundle = json.loads(bundle_of(archive).read_bytes())
    digest = base64.b64encode(bytes.fromhex(file_sha256(archive))).decode()
    bundle["messageSignature"]["messageDigest"]["digest"] = digest
    bundle_of(archive).write_text(json.dumps(bundle))
    assert signed_sha256(bundle_of(archive)) == file_sha256(archive)
    assert not is_signed_with(archive, SIGNER)
    assert isinstance(only(archive, SIGNER), Finding)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"messageSignature": {"messageDigest": {"algorithm": "MD5", "digest": ""}}}'],
)
def test_a_bundle_that_is_none_is_found(archive: Path, content: str) -> None:
    bundle_of(archive).write_text(content)
    assert isinstance(only(archive, None), Finding)


def test_a_missing_signature_matters_only_to_who_asks_for_one(archive: Path) -> None:
    bundle_of(archive).unlink()
    assert list(check_signatures(archive, Trusted())) == []
    said = only(archive, SIGNER)
    assert isinstance(said, Finding) and said.found == "no signature"


def test_signing_leaves_the_bundle_beside_the_archive(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle_of(archive).unlink()
    becomes(tmp_path, CLIENT, monkeypatch)
    assert sign_with_account(archive) == bundle_of(archive)
    assert isinstance(only(archive, None), Note)


def test_a_client_that_does_not_sign_is_told_in_one_sentence(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    becomes(tmp_path, "#!/bin/sh\nexit 7\n", monkeypatch)
    with pytest.raises(UserError, match="not signed: sigstore ended with exit code 7"):
        sign_with_account(archive)


def test_a_missing_client_is_told_in_one_sentence(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no program 'sigstore' for the signature"):
        only(archive, SIGNER)
    assert isinstance(only(archive, None), Note)  # which needs none


def test_an_identity_alone_names_no_account(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(archive), "--identity", "ada@example.org"]) == 2
    assert "found `--identity` alone, expected" in capsys.readouterr().err
