"""Was an archive signed and dated, and by those whom the auditor trusts?"""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from userturn.audit.findings import Finding, Note
from userturn.export.signature import key_of, signature_of, signer_of
from userturn.export.sigstore import (
    Account,
    bundle_of,
    is_signed_with,
    signed_sha256,
    verification,
)
from userturn.export.timestamp import date_in, is_by_one_of, timestamp_of
from userturn.storage.hashing import file_sha256


class Trusted(NamedTuple):
    """Whom the auditor trusts; None for nobody in particular.

    Attributes:
        signers: file of SSH keys, one of which must have signed an archive.
        account: with which it must have been signed.
        authorities: file of certificates of timestamp authorities, one of which must have dated it.
    """

    signers: Path | None = None
    account: Account | None = None
    authorities: Path | None = None


NOBODY = Trusted()


class Signature(NamedTuple):
    """A file beside an archive that signs or dates it.

    Attributes:
        kind: signature or timestamp.
        file: its path.
        says: what it says of the archive; None if it is of other bytes.
        wanted: by whom it must be; None for anybody.
        option: how to name somebody.
        by: who of those it is by; None for nobody.
        otherwise: what to add to what it says if it is by nobody of those.
    """

    kind: str
    file: Path
    says: Callable[[], str | None]
    wanted: str | None
    option: str
    by: Callable[[], str | None]
    otherwise: str


def check_signatures(path: Path, trusted: Trusted) -> Iterator[Finding | Note]:
    """Yield who signed and dated an archive and when, or the fault in that.

    Args:
        path: of the archive, or of a folder, which has no signature.
        trusted: who must have done so.

    Raises:
        UserError: there is no program for a signature, or no file of those who are trusted.
    """
    archive = path.absolute()
    for signature in (
        _with_a_key(archive, trusted.signers),
        _with_an_account(archive, trusted.account),
        _with_a_date(archive, trusted.authorities),
    ):
        if path.is_file() and signature.file.is_file():
            yield _checked(signature)
        elif signature.wanted is not None:
            yield _finding(signature, signature.wanted, f"no {signature.kind}")


def _checked(signature: Signature) -> Finding | Note:
    said = signature.says()
    if said is None:
        ours = f"a {signature.kind} of this archive"
        return _finding(signature, ours, f"a {signature.kind} of other bytes, or none")
    if signature.wanted is None:
        return Note(signature.kind, signature.file.name, f"{said}; {signature.option} you trust")
    by = signature.by()
    if by is None:
        return _finding(signature, signature.wanted, said + signature.otherwise)
    return Note(signature.kind, signature.file.name, f"{said} {by}")


def _finding(signature: Signature, expected: str, found: str) -> Finding:
    fix = f"get the archive and its {signature.kind} again from the people who published them"
    return Finding(signature.kind, signature.file.name, expected, found, fix)


def _with_a_key(archive: Path, signers: Path | None) -> Signature:
    def says() -> str | None:
        key = key_of(archive)
        return None if key is None else f"signed with the key {key}"

    def by() -> str | None:
        name = None if signers is None else signer_of(archive, signers)
        return None if name is None else f"of {name}"

    wanted = None if signers is None else f"a signature with a key in {signers}"
    option = "`--signers FILE` says if that is a key"
    return Signature("signature", signature_of(archive), says, wanted, option, by, otherwise="")


def _with_an_account(archive: Path, account: Account | None) -> Signature:
    bundle = bundle_of(archive)

    def says() -> str | None:
        is_ours = signed_sha256(bundle) == file_sha256(archive)
        return "signed with an account" if is_ours else None

    def by() -> str | None:
        if account is None or not is_signed_with(archive, account):
            return None
        return f"of {account.issuer}: {account.identity}"

    option = "`--identity WHO --issuer URL` says if that is one"
    if account is None:
        return Signature("signature", bundle, says, None, option, by, otherwise="")
    wanted = f"a signature by {account.identity} of {account.issuer}"
    why = shlex.join(["sigstore", *verification(archive, account)])
    otherwise = f", which Sigstore does not accept as theirs; `{why}` says why"
    return Signature("signature", bundle, says, wanted, option, by, otherwise)


def _with_a_date(archive: Path, authorities: Path | None) -> Signature:
    def says() -> str | None:
        date = date_in(archive)
        return None if date is None else f"dated {date}"

    def by() -> str | None:
        is_theirs = authorities is not None and is_by_one_of(archive, authorities)
        return f"by an authority in {authorities}" if is_theirs else None

    wanted = None if authorities is None else f"a timestamp by an authority in {authorities}"
    option = "`--authorities FILE` says if that is by somebody"
    return Signature(
        "timestamp", timestamp_of(archive), says, wanted, option, by, otherwise=" by somebody else"
    )
