"""Secrets that a study must never contain, which are found in any text of a file, never shown."""

import gzip
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from userturn.datasets.rows import GZIP, PARQUET

ROWS_IN_MEMORY = 50_000  # rows of a Parquet file in memory at once
BYTES = 16 * 1024 * 1024  # bytes of a plain file in memory at once


class Texts(NamedTuple):
    """Texts from one part of a file, numbered from 1.

    The place tells what the numbers count: `line`, or rows of a column (`column answer, row`).
    """

    where: str
    numbers: pl.Series
    texts: pl.Series


def texts_of(path: Path) -> Iterator[Texts]:
    """Yield all texts of a file, a part at a time, with bytes that are not UTF-8 replaced.

    Raises:
        OSError, pa.ArrowException: the file cannot be read in the format of its first bytes.
    """
    with path.open("rb") as file:
        begins = file.read(len(PARQUET))
    if begins == PARQUET:
        yield from _parquet_texts(path)
    elif begins.startswith(GZIP):
        try:
            with gzip.open(path) as unpacked:
                yield from _line_texts(cast("BinaryIO", unpacked))
        except (EOFError, zlib.error) as error:
            raise OSError(f"'{path}' is not a complete gzip file") from error
    else:
        with path.open("rb") as file:
            yield from _line_texts(file)


def _line_texts(file: BinaryIO) -> Iterator[Texts]:
    """Yield the lines of a file. A line longer than memory, as in a gzip bomb, comes in parts."""
    n_before = 0
    while part := file.read(BYTES):
        lines = (part + file.readline(BYTES)).removesuffix(b"\n").split(b"\n")
        texts = pl.Series([line.decode(errors="replace") for line in lines])
        yield Texts("line", _numbers(n_before, len(lines)), texts)
        n_before += len(lines)


def _parquet_texts(path: Path) -> Iterator[Texts]:
    with pq.ParquetFile(path) as file:
        noted = file.schema_arrow.metadata or file.metadata.metadata or {}
        values = [value.decode(errors="replace") for value in noted.values()]
        texts = pl.Series(values, dtype=pl.String)
        yield Texts("metadata, entry", _numbers(0, len(values)), texts)
        n_before = 0
        # Columns of numbers, such as token ids, are most of a large study.
        columns = [field.name for field in file.schema_arrow if not _is_numbers(field.type)]
        for batch in file.iter_batches(ROWS_IN_MEMORY, columns=columns):
            numbers = _numbers(n_before, batch.num_rows)
            for column in pl.DataFrame(pa.Table.from_batches([batch])).iter_columns():
                yield from _strings(f"column {column.name}, row", numbers, column)
            n_before += batch.num_rows


def _is_numbers(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    return bool(pa.types.is_primitive(inner))


def _numbers(n_before: int, n: int) -> pl.Series:
    return pl.int_range(n_before + 1, n_before + n + 1, eager=True)


def _strings(where: str, numbers: pl.Series, values: pl.Series) -> Iterator[Texts]:
    kind = values.dtype
    if isinstance(kind, pl.List | pl.Array):
        inner = pl.DataFrame({"number": numbers, "value": values}).explode("value")
        yield from _strings(where, inner["number"], inner["value"])
    elif isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _strings(where, numbers, values.struct.field(field.name))
    elif isinstance(kind, pl.String | pl.Categorical | pl.Enum | pl.Binary):
        yield Texts(where, numbers, values.cast(pl.String, strict=False))


SHORTEST = 8  # characters of a key's value: a shorter one occurs in texts by chance
# Forms that issuers document and gitleaks 8 collects, in a syntax that Rust and Python share.
FORMS = {
    "API key": r"\bsk-[A-Za-z0-9_-]{24,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40})",
    "GitLab token": r"\bglpat-[A-Za-z0-9_-]{20}",
    "AWS key": r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b",
    "Google key": r"\bAIza[A-Za-z0-9_-]{35}",
    "Groq key": r"\bgsk_[A-Za-z0-9]{40,}",
    "xAI key": r"\bxai-[A-Za-z0-9]{60,}",
    "Replicate token": r"\br8_[A-Za-z0-9]{37}",
    "Slack token": r"\bxox[abeprs]-[A-Za-z0-9-]{20,}",
    "PyPI token": r"\bpypi-AgE[A-Za-z0-9_-]{50,}",
    "Perplexity key": r"\bpplx-[A-Za-z0-9]{48}",
    "NVIDIA key": r"\bnvapi-[A-Za-z0-9_-]{60,}",
    "Fireworks key": r"\bfw_[A-Za-z0-9]{22,}\b",
    "Cerebras key": r"\bcsk-[a-z0-9]{48}\b",
    "Databricks token": r"\bdapi[0-9a-f]{32}\b",
    "W&B key": r"\bwandb_v1_[A-Za-z0-9_]{60,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{16,}\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "named key": (  # for issuers whose keys have no form of their own
        r"(?i:\b(?:together|mistral|cohere|co|wandb|azure_openai|azure|aws_secret)(?:_api|_access)?_key"
        r"[\x22']?\s*[:=]\s*[\x22']?[A-Za-z0-9/+]{32,})"
    ),
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "bearer token": r"\b[Bb]earer +[A-Za-z0-9._~+/-]{24,}",
    "password in an address": r"\bhttps?://[^\s/:@\x22'<>]+:[^\s/:@\x22'<>]{8,}@",
}
# Each form by itself, which is faster than one expression since its first letters are searched for.
LOOKS_SECRET = pl.any_horizontal(pl.col("text").str.contains(pattern) for pattern in FORMS.values())
# A form that hyphenated words may have, so that only a match with a digit counts.
LIKE_WORDS = {"API key", "Slack token", "bearer token"}


class Secret(NamedTuple):
    """The place and kind of a secret, without the secret itself."""

    path: Path
    where: str
    kind: str


def key_values(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the API keys of judges and served models in the environment, by variable name."""
    entries = [*config["judges"].values(), *config.get("models", {}).values()]
    entries += [config.get("judge_defaults", {}), config.get("model_defaults", {})]
    variables = {e["key_variable"] for e in entries if isinstance(e, dict) and "key_variable" in e}
    values = {name: os.environ.get(name, "").strip() for name in sorted(variables)}
    return {name: value for name, value in values.items() if len(value) >= SHORTEST}


def find_secrets(path: Path, values: Mapping[str, str] | None = None) -> list[Secret]:
    """Return the places of likely secrets in a file, and of `values`, known ones by name."""
    return [secret for texts in texts_of(path) for secret in secrets_in(path, texts, values or {})]


def secrets_in(path: Path, texts: Texts, values: Mapping[str, str]) -> Iterator[Secret]:
    """Yield each likely secret in some texts of a file."""
    candidates = texts.texts.to_frame("text").select(LOOKS_SECRET).to_series()
    for number, text in zip(
        texts.numbers.filter(candidates), texts.texts.filter(candidates), strict=True
    ):
        for kind, pattern in FORMS.items():
            matches = [match[0] for match in re.finditer(pattern, text)]
            if any(kind not in LIKE_WORDS or re.search(r"\d", secret) for secret in matches):
                yield Secret(path, f"{texts.where} {number}", kind)
    for name, value in values.items():
        written = {value, quote(value, safe="")}
        for number in texts.numbers.filter(texts.texts.str.contains_any(sorted(written))):
            yield Secret(path, f"{texts.where} {number}", f"value of {name}")
