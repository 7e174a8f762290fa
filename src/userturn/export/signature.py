"""Signs an archive with an SSH key, and checks such a signature: `ssh-keygen -Y`."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from userturn.errors import UserError

NAMESPACE = "userturn"  # a signature for another purpose does not count


def signature_of(archive: Path) -> Path:
    """Return where the signature of an archive lies: beside it."""
    return archive.with_name(f"{archive.name}.sig")


def sign(archive: Path, key: Path) -> Path:
    """Sign an archive and return the path of the signature.

    Args:
        archive: to sign.
        key: the file of a private SSH key, or of a public one whose private key an agent holds.

    Raises:
        UserError: the key cannot be used, or there is no ssh-keygen.
    """
    signature = signature_of(archive)
    signature.unlink(missing_ok=True)  # ssh-keygen would ask
    done = _ssh_keygen(["sign", "-f", str(key), "-n", NAMESPACE, str(archive)])
    if done.returncode != 0:
        raise UserError(
            f"'{archive}' was written but not signed with '{key}': {_last_line(done.stderr)}; "
            "name the file of an SSH key that you can use"
        )
    return signature


def signer_of(archive: Path, signers: Path) -> str | None:
    """Return who of some allowed signers signed an archive, or None.

    Args:
        archive: with its signature beside it.
        signers: a file as ssh-keygen(1) describes under ALLOWED SIGNERS.

    Raises:
        UserError: there is no ssh-keygen, or no file of signers.
    """
    if not signers.is_file():
        raise UserError(
            f"'{signers}' does not exist; expected a file of allowed signers, one a line: "
            "name, key type and public key"
        )
    named = ["-f", str(signers), "-s", str(signature_of(archive))]
    found = _ssh_keygen(["find-principals", *named], archive)
    for name in found.stdout.decode(errors="replace").split():
        verify = ["verify", *named, "-I", name, "-n", NAMESPACE]
        if found.returncode == 0 and _ssh_keygen(verify, archive).returncode == 0:
            return name
    return None


def key_of(archive: Path) -> str | None:
    """Return the fingerprint of the key that signed an archive; None if it signed other bytes."""
    check = ["check-novalidate", "-n", NAMESPACE, "-s", str(signature_of(archive))]
    done = _ssh_keygen(check, archive)
    return done.stdout.decode(errors="replace").split()[-1] if done.returncode == 0 else None


def _ssh_keygen(
    arguments: Sequence[str], message: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = ["ssh-keygen", "-Y", *arguments]
    try:
        if message is None:
            return subprocess.run(command, capture_output=True, check=False)
        with message.open("rb") as content:
            return subprocess.run(command, stdin=content, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise UserError(
            f"no program 'ssh-keygen' for the signature ({error.strerror}); install OpenSSH 8.9 "
            "or later, or leave out `--sign` and `--signers`"
        ) from error


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "ssh-keygen said nothing"
