"""Has a timestamp authority (RFC 3161) date an archive, and checks its timestamp: `openssl ts`."""

import re
import subprocess
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from userturn.errors import UserError
from userturn.storage.hashing import file_sha256

QUERY = "application/timestamp-query"  # the type of what an authority is sent
PATIENCE = 60  # seconds for an authority's reply
DUMPED = re.compile(r"^ +[0-9a-f]{4} - ([0-9a-f -]{47})", re.MULTILINE)  # 16 bytes a line


def timestamp_of(archive: Path) -> Path:
    """Return where the timestamp of an archive lies: beside it."""
    return archive.with_name(f"{archive.name}.tsr")


def stamp(archive: Path, url: str) -> Path:
    """Have a timestamp authority date an archive, and return the path of the timestamp.

    The authority gets the archive's sha256 and nothing else of it.

    Args:
        archive: to date.
        url: of the authority.

    Raises:
        UserError: the authority gives no timestamp, or there is no openssl.
    """
    timestamp = timestamp_of(archive)
    with TemporaryDirectory(prefix="userturn-") as folder:
        question, reply = Path(folder, "question.tsq"), Path(folder, "reply.tsr")
        asked = ["-query", "-data", str(archive), "-sha256", "-cert", "-out", str(question)]
        try:
            _openssl_ts(asked)
            request = urllib.request.Request(url, question.read_bytes(), {"Content-Type": QUERY})
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                reply.write_bytes(answer.read())
        except (OSError, ValueError) as error:
            raise _not_dated(archive, url, str(error)) from error
        if _imprint(reply) != file_sha256(archive):
            raise _not_dated(archive, url, "its reply is no timestamp of this archive")
        timestamp.write_bytes(reply.read_bytes())
    return timestamp


def date_in(archive: Path) -> str | None:
    """Return when an archive was dated, by its timestamp; None if that is of other bytes.

    Raises:
        UserError: there is no openssl.
    """
    timestamp = timestamp_of(archive)
    if _imprint(timestamp) != file_sha256(archive):
        return None
    return _said(timestamp).partition("Time stamp: ")[2].partition("\n")[0] or None


def is_by_one_of(archive: Path, authorities: Path) -> bool:
    """Return whether an archive was dated by one of some authorities.

    Args:
        archive: with its timestamp beside it.
        authorities: a file of certificates in PEM, of authorities or of whom they are certified by.

    Raises:
        UserError: there is no openssl, or no such file.
    """
    if not authorities.is_file():
        raise UserError(
            f"'{authorities}' does not exist; expected a file of certificates (PEM) of the "
            "timestamp authorities that you trust"
        )
    named = ["-data", str(archive), "-in", str(timestamp_of(archive)), "-CAfile", str(authorities)]
    return _openssl_ts(["-verify", *named]).returncode == 0


def _not_dated(archive: Path, url: str, reason: str) -> UserError:
    return UserError(
        f"'{archive}' was written but not dated by '{url}': {reason}; name the address of a "
        "timestamp authority (RFC 3161)"
    )


def _said(timestamp: Path) -> str:
    return _openssl_ts(["-reply", "-in", str(timestamp), "-text"]).stdout.decode(errors="replace")


def _imprint(timestamp: Path) -> str:
    """Return the hash that a timestamp dates, in hexadecimal; nothing if it dates none."""
    dumped = _said(timestamp).partition("Message data:\n")[2].partition("Serial number")[0]
    return re.sub(r"[^0-9a-f]", "", "".join(DUMPED.findall(dumped)))


def _openssl_ts(arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["openssl", "ts", *arguments], capture_output=True, check=False)
    except FileNotFoundError as error:
        raise UserError(
            f"no program 'openssl' for the timestamp ({error.strerror}); install OpenSSL, or leave "
            "out `--timestamp` and `--authorities`"
        ) from error
