"""Get a dataset's rows: from a local file, or a file of a pinned revision on the hub.

Only `fetch` uses the network, and only for files that are not in the hub's cache.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from userturn.disk_space import is_full_disk
from userturn.errors import UserError
from userturn.storage.given_files import given_text
from userturn.storage.hashing import check_sha256, file_sha256

PARQUET = b"PAR1"
GZIP = b"\x1f\x8b"
PACKED = {  # how files begin that have to be unpacked first
    b"PK\x03\x04": "a zip archive",
    b"\xfd7zXZ": "packed by xz",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"BZh": "packed by bzip2",
}
BATCH = 1000  # rows of a Parquet file in memory at once

# The keys of a dataset's entry that affect its items, besides the content of its file.
SHAPES_ITEMS = (
    "fields",
    "turns",
    "language",
    "limit",
    "seed",
    "condition",
    "instruction",
    "judge",
)

Row = dict[str, Any]


def complete(entry: Mapping[str, Any], study_seed: int) -> dict[str, Any]:
    """Return a dataset's entry with the text of its instruction and the seed of its subsample."""
    settings = dict(entry)
    if "instruction" in settings:
        text = given_text(settings["instruction"]).strip()
        settings["instruction"] = f"\n\n{text}"
    if "limit" in settings:
        settings.setdefault("seed", study_seed)
    return settings


def shaping(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings that affect the items; a file counts by its content, not its name."""
    shaped = {key: value for key, value in settings.items() if key in SHAPES_ITEMS}
    if "hub" not in settings:
        content: Any = file_sha256(settings["file"])
    else:
        content = settings.get("sha256") or [settings[k] for k in ("hub", "revision", "file")]
    return shaped | {"content": content}


def fetch(settings: Mapping[str, Any]) -> Path:
    """Return the path of a dataset's file, downloaded if the hub's cache does not have it.

    Raises:
        UserError: the file is not found locally, in the cache or on the hub, or has other content.
    """
    path = Path(settings["file"])
    if "hub" in settings:
        path = _from_hub(settings)
    elif not path.is_file():
        raise UserError(
            f"dataset file '{path}' does not exist; correct `file` in the dataset's entry"
        )
    if "sha256" in settings:
        check_sha256(path, settings["sha256"])
    return path


def at_hand(settings: Mapping[str, Any]) -> Path | None:
    """Return a dataset's file if it is local or in the hub's cache; never download it."""
    if "hub" not in settings:
        path = Path(settings["file"])
        return path if path.is_file() else None
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(
        settings["hub"], settings["file"], revision=settings["revision"], repo_type="dataset"
    )
    return Path(found) if isinstance(found, str) else None


def _from_hub(settings: Mapping[str, Any]) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

    what = f"'{settings['file']}' of the hub's dataset {settings['hub']} at {settings['revision']}"
    try:
        return Path(
            hf_hub_download(
                settings["hub"],
                settings["file"],
                repo_type="dataset",
                revision=settings["revision"],
            )
        )
    except LocalEntryNotFoundError as error:
        raise UserError(
            f"{what} is not in the hub's cache and the hub cannot be reached; run prepare_dataset "
            "once with a network, or give a local `file` without `hub`"
        ) from error
    except (EntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        if is_full_disk(error):
            raise
        raise UserError(
            f"{what} could not be downloaded ({type(error).__name__}); check hub, revision and "
            "file in the dataset's entry, and the access of your hub token"
        ) from error


def read_rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a JSON lines (also gzipped) or Parquet file, each with its place.

    The place reads "file, line 3".

    The format is recognised by content, not by name. JSON lines are UTF-8, with or without a byte
    order mark, with any line endings; empty lines are skipped.

    Raises:
        UserError: a row that cannot be read, named by its place and never shown.
    """
    with path.open("rb") as file:
        head = file.read(8)
    for begin, what in PACKED.items():
        if head.startswith(begin):
            raise UserError(
                f"'{path}' is {what}, expected JSON lines, these packed by gzip, or Parquet; "
                "unpack it and give the file inside"
            )
    if head.startswith(PARQUET):
        return _parquet_rows(path)
    return _json_rows(path, gzip.open if head.startswith(GZIP) else open)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _parse(line: str, where: str) -> Row:
    try:
        line.encode()
        row = json.loads(line, parse_constant=_refuse_constant)
    except UnicodeEncodeError as error:
        raise UserError(
            f"{where}: found bytes that are not UTF-8; save the file as UTF-8"
        ) from error
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise UserError(
            f"{where}: not JSON ({reason}), expected one object in each line; correct that line, "
            "or download the file again"
        ) from error
    if not isinstance(row, dict):
        raise UserError(
            f"{where}: found a {type(row).__name__}, expected one object in each line; correct "
            "that line, and write each row of a list on a line of its own"
        )
    return row


def _json_rows(path: Path, unpack: Any) -> Iterator[tuple[str, Row]]:
    number = 0
    try:
        with unpack(path, "rt", encoding="utf-8-sig", errors="surrogateescape") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    where = f"{path}, line {number}"
                    yield where, _parse(line, where)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{path}, after line {number}: the gzipped file is cut short or damaged ({error}); "
            "fetch it again"
        ) from error


def _parquet_rows(path: Path) -> Iterator[tuple[str, Row]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=BATCH):
            for row in batch.to_pylist():
                number += 1
                yield f"{path}, row {number}", row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}, after row {number}: the Parquet file is damaged ({type(error).__name__}); "
            "fetch it again"
        ) from error
