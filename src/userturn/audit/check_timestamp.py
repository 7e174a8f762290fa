"""Was an archive dated, and by one of the timestamp authorities that the auditor trusts?"""

from collections.abc import Iterator
from pathlib import Path

from userturn.audit.findings import Finding, Note
from userturn.export.timestamp import date_in, is_by_one_of, timestamp_of

FIX = "get the archive and its timestamp again from the people who published them"


def check_timestamp(path: Path, authorities: Path | None) -> Iterator[Finding | Note]:
    """Yield when an archive was dated, or the fault in its timestamp.

    Args:
        path: of the archive, or of a folder, which has no timestamp.
        authorities: a file of certificates; None if the auditor names nobody.

    Raises:
        UserError: there is no openssl or no file of certificates.
    """
    timestamp = timestamp_of(path.absolute())
    if path.is_dir() or not timestamp.is_file():
        if authorities is not None:
            expected = f"an archive that an authority in {authorities} dated"
            yield Finding("timestamp", timestamp.name, expected, "no timestamp", FIX)
        return
    date = date_in(path.absolute())
    if date is None:
        found = "a timestamp of other bytes, or none"
        yield Finding("timestamp", timestamp.name, "a timestamp of this archive", found, FIX)
    elif authorities is None:
        text = f"dated {date}; `--authorities FILE` says if that is by somebody you trust"
        yield Note("timestamp", timestamp.name, text)
    elif not is_by_one_of(path.absolute(), authorities):
        expected = f"a timestamp by an authority in {authorities}"
        yield Finding("timestamp", timestamp.name, expected, "one by somebody else", FIX)
    else:
        yield Note("timestamp", timestamp.name, f"dated {date} by an authority in {authorities}")
