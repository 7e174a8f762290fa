"""Signs an archive with an account, and checks such a signature: the `sigstore` client."""

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from userturn.errors import UserError


class Account(NamedTuple):
    """Who signs.

    Attributes:
        identity: such as an e-mail address, or the address of a workflow of a CI service.
        issuer: address of the service that vouches for it.
    """

    identity: str
    issuer: str


def bundle_of(archive: Path) -> Path:
    """Return where the Sigstore bundle of an archive lies: beside it."""
    return archive.with_name(f"{archive.name}.sigstore.json")


def sign_with_account(archive: Path) -> Path:
    """Sign an archive with an account and return the path of the bundle.

    The client asks for the account in a browser; in CI it takes that of the workflow.

    Raises:
        UserError: the client did not sign, or there is none.
    """
    bundle = bundle_of(archive)
    done = _sigstore(["sign", "--overwrite", "--bundle", str(bundle), str(archive)], shown=True)
    if done.returncode != 0:
        raise UserError(
            f"'{archive}' was written but not signed: sigstore ended with exit code "
            f"{done.returncode}, for the reason above; sign it with `sigstore sign '{archive}'`, "
            "or name an SSH key"
        )
    return bundle


def signed_sha256(bundle: Path) -> str | None:
    """Return the sha256 that a bundle signs, in hexadecimal; None if it signs none."""
    try:
        digest = json.loads(bundle.read_bytes())["messageSignature"]["messageDigest"]
        if digest["algorithm"] == "SHA2_256":
            return base64.b64decode(digest["digest"]).hex()
    except (ValueError, KeyError, TypeError):
        pass
    return None


def verification(archive: Path, account: Account) -> list[str]:
    """Return the command that tells whether an account signed an archive, without a network."""
    who = ["--cert-identity", account.identity, "--cert-oidc-issuer", account.issuer]
    bundle = ["--bundle", str(bundle_of(archive))]
    return ["verify", "identity", "--offline", *bundle, *who, str(archive)]


def is_signed_with(archive: Path, account: Account) -> bool:
    """Return whether an account signed an archive, whose bundle is beside it.

    Raises:
        UserError: there is no client.
    """
    return _sigstore(verification(archive, account)).returncode == 0


def _sigstore(arguments: Sequence[str], shown: bool = False) -> subprocess.CompletedProcess[bytes]:
    try:
        command = ["sigstore", *arguments]
        return subprocess.run(command, capture_output=not shown, check=False)
    except FileNotFoundError as error:
        raise UserError(
            f"no program 'sigstore' for the signature ({error.strerror}); install it with "
            "`pip install sigstore`, or leave out `--sign sigstore` and `--identity`"
        ) from error
