"""Parquet files that are written whole, byte-equal for equal content, and know their identity."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from tabulate import tabulate

SCHEMA_VERSION = "1"

WRITTEN: set[Path] = set()  # by this process, for the record of what it made

Schema = dict[str, pl.DataType | type[pl.DataType]]


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when the block ends, or nothing at all."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield temporary
        temporary.replace(target)
        WRITTEN.add(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(text: str, path: str | Path) -> None:
    """Write a text as UTF-8, whole."""
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def artifact(identity: str | None) -> dict[str, str | None]:
    """Return what every artifact carries: the fingerprint of its settings, and a schema version."""
    return {"identity": identity, "schema_version": SCHEMA_VERSION}


def write_json(content: Mapping[str, Any], path: str | Path, identity: str) -> None:
    """Write an object as JSON with its identity under `artifact`."""
    named = {"artifact": artifact(identity), **content}
    write_text(json.dumps(named, indent=1, ensure_ascii=False) + "\n", path)


def write_table(table: pl.DataFrame, path: str | Path, identity: str, **more: str) -> None:
    """Write a table as Parquet with its identity, and what more is given, in its metadata."""
    with written_whole(path) as temporary:
        table.write_parquet(temporary, metadata=_metadata(identity) | more)


def write_parts(
    parts: Iterable[pl.DataFrame], schema: Schema, path: str | Path, identity: str, **more: str
) -> None:
    """Write a table as `write_table` does, of parts that are never in memory all at once."""
    import pyarrow.parquet as pq  # half a second to import

    known = pl.DataFrame(schema=schema).to_arrow().schema
    noted = known.with_metadata(_metadata(identity) | more)
    with (
        written_whole(path) as temporary,
        pq.ParquetWriter(temporary, noted, compression="zstd") as writer,
    ):
        for part in parts:
            writer.write_table(part.to_arrow().cast(noted))


def _metadata(identity: str) -> dict[str, str]:
    return {name: str(value) for name, value in artifact(identity).items()}


def read_identity(path: str | Path) -> str | None:
    """Return the identity that a Parquet file carries, or None: no file, or not one of ours."""
    return read_artifact(path).get("identity")


def read_artifact(path: str | Path) -> dict[str, Any]:
    """Return what a Parquet or JSON artifact says of itself; nothing if it is not one of ours."""
    try:
        if Path(path).suffix == ".parquet":
            return dict(pl.read_parquet_metadata(path))
        content = json.loads(Path(path).read_bytes())
        found: dict[str, Any] = content.get("artifact") or content["usermeta"]["artifact"]
    except (OSError, pl.exceptions.PolarsError, ValueError, LookupError, AttributeError):
        return {}
    return found


def read_tables(paths: Iterable[str], schema: Schema) -> pl.DataFrame:
    """Return the columns of a schema out of several tables; no row where there is no table."""
    tables = [pl.read_parquet(path, columns=list(schema)) for path in sorted(paths)]
    return pl.concat(tables) if tables else pl.DataFrame(schema=schema)


def write_csv(table: pl.DataFrame, path: str | Path) -> None:
    """Write a table as CSV, whole."""
    with written_whole(path) as temporary:
        table.write_csv(temporary)


def write_markdown(table: pl.DataFrame, path: str | Path) -> None:
    """Write a table of texts as a Markdown table, whole."""
    write_text(_printed(table, "pipe"), path)


def write_latex(table: pl.DataFrame, path: str | Path) -> None:
    """Write a table of texts as a LaTeX tabular with booktabs rules, whole."""
    write_text(_printed(table, "latex_booktabs"), path)


def _printed(table: pl.DataFrame, layout: str) -> str:
    return str(tabulate(table.rows(), table.columns, layout, disable_numparse=True)) + "\n"
