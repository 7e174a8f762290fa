"""Was an archive signed, and by one of the signers that the auditor trusts?"""

from collections.abc import Iterator
from pathlib import Path

from userturn.audit.findings import Finding, Note
from userturn.export.signature import key_of, signature_of, signer_of

FIX = "get the archive and its signature again from the people who published them"


def check_signature(path: Path, signers: Path | None) -> Iterator[Finding | Note]:
    """Yield who signed an archive, or the fault in its signature.

    Args:
        path: of the archive, or of a folder, which has no signature.
        signers: a file of allowed signers; None if the auditor names nobody.

    Raises:
        UserError: there is no ssh-keygen or no file of signers.
    """
    signature = signature_of(path.absolute())
    if path.is_dir() or not signature.is_file():
        if signers is not None:
            expected = f"an archive with a signature by a signer in {signers}"
            yield Finding("signature", signature.name, expected, "no signature", FIX)
        return
    key = key_of(path)
    if key is None:
        found = "a signature of other bytes, or none"
        yield Finding("signature", signature.name, "a signature of this archive", found, FIX)
    elif signers is None:
        text = f"signed with the key {key}; `--signers FILE` says if that is a key you trust"
        yield Note("signature", signature.name, text)
    elif (name := signer_of(path, signers)) is None:
        expected = f"the key of a signer in {signers}"
        yield Finding("signature", signature.name, expected, f"the key {key}", FIX)
    else:
        yield Note("signature", signature.name, f"signed by {name} with the key {key}")
