"""The rows of a file with verdicts, whatever its format: it is known by its content."""

import json
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from userturn.calibration.log_rows import (
    every_eval_ever_rows,
    inspect_rows,
    is_every_eval_ever,
    is_inspect,
    is_lm_eval,
    lm_eval_rows,
)
from userturn.datasets.rows import GZIP, PACKED, Row, Rows, read_rows
from userturn.errors import UserError
from userturn.storage.files import given_object

ZIP = next(iter(PACKED))  # how a log of Inspect begins
ZSTD = 93
HEADS = ("header.json", "_journal/start.json")  # the second of a log that was not finished
EXPECTED = (
    "expected a table (CSV, JSON lines, Parquet), a log of Inspect (.eval or .json), samples of "
    "lm-eval (samples_*.jsonl) or rows of Every Eval Ever (*_samples.jsonl)"
)


def verdict_rows(path: Path) -> Rows:
    """Yield the rows of a file with verdicts, with their places.

    Raises:
        UserError: a file or row that cannot be read.
    """
    if not path.is_file():
        raise UserError(f"'{path}' is no file; {EXPECTED}")
    with path.open("rb") as file:
        begin = file.read(4)
    if begin.startswith(ZIP):
        return _zipped_log(path)
    if path.suffix.lower() == ".json" and not begin.startswith((b"[", GZIP)):
        return _object(path, given_object(path))
    rows = read_rows(path)
    first = next(rows, None)
    if first is None:
        raise UserError(f"'{path}' has no rows; {EXPECTED}")
    everything = chain([first], rows)
    if is_lm_eval(first[1]):
        return lm_eval_rows(path, everything)
    return every_eval_ever_rows(everything) if is_every_eval_ever(first[1]) else everything


def _object(path: Path, content: Row) -> Rows:
    """Yield the rows of one JSON object: a log of Inspect, or what Every Eval Ever says of rows."""
    if is_inspect(content):
        samples = enumerate(content.get("samples") or [], start=1)
        return inspect_rows(content["eval"], ((f"{path}, sample {n}", one) for n, one in samples))
    if "evaluation_results" in content:
        details = content.get("detailed_evaluation_results") or {}
        beside = path.with_name(Path(str(details.get("file_path"))).name)
        if beside.is_file() and beside != path:
            return verdict_rows(beside)
        raise UserError(
            f"'{path}' has the results of Every Eval Ever without their rows; give the file that "
            "it names under detailed_evaluation_results, *_samples.jsonl"
        )
    raise UserError(f"'{path}' is an object of an unknown kind; {EXPECTED}")


def _zipped_log(path: Path) -> Rows:
    """Yield the rows of an .eval file of Inspect."""
    try:
        with ZipFile(path) as log:
            names = log.namelist()
            head = next((name for name in HEADS if name in names), None)
            if head is None:
                raise UserError(f"'{path}' is a zip archive, but no log of Inspect; {EXPECTED}")
            samples = list(
                _samples(path, log, sorted(n for n in names if n.startswith("samples/")))
            )
            return inspect_rows(json.loads(packed_member(log, log.getinfo(head)))["eval"], samples)
    except (BadZipFile, NotImplementedError, ValueError, KeyError) as error:
        raise UserError(
            f"'{path}' cannot be read as a log of Inspect ({error}); "
            "`inspect log convert --to json` writes it as JSON, which is read, too"
        ) from error


def _samples(path: Path, log: ZipFile, names: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the samples of a log without their messages, which may be many."""
    for name in names:
        sample = json.loads(packed_member(log, log.getinfo(name)))
        yield f"{path}, {name}", {key: sample.get(key) for key in ("id", "epoch", "scores")}


def packed_member(log: ZipFile, member: ZipInfo) -> bytes:
    """Return a member's bytes; later logs are packed by zstd, which Python 3.13 cannot unpack."""
    if member.compress_type != ZSTD:
        return log.read(member)
    import pyarrow as pa

    file = log.fp
    assert file is not None
    file.seek(member.header_offset + 26)
    file.seek(sum(struct.unpack("<HH", file.read(4))), 1)  # past its name and what else it says
    return bytes(
        pa.decompress(file.read(member.compress_size), member.file_size, "zstd", asbytes=True)
    )
