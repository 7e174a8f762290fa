"""What a finished study has on disk is what its reference says."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.tables.reference import (
    StoredFile,
    stored_figures,
    stored_files,
    stored_tables,
    type_in_words,
)

pytestmark = pytest.mark.slow


def files_of_a_study() -> list[StoredFile]:
    return [*stored_tables(), *stored_figures(), *stored_files()]


def pattern(path: str) -> re.Pattern[str]:
    """Return what matches a path with wildcards, and what is below it where it is a folder."""
    parts = re.split(r"(\{\w+\}|\*|…)", path)
    wild = {"*": "[^/]+", "…": ".+"}
    text = "".join(
        wild.get(part, "[^/]+" if part.startswith("{") else re.escape(part)) for part in parts
    )
    return re.compile(f"{text}(/.*)?")


def keys_of(path: Path) -> set[str]:
    """Return the keys of JSON, or of the first of JSON lines, but for `artifact`."""
    content = json.loads(
        path.read_text("utf-8").splitlines()[0]
        if path.suffix == ".jsonl"
        else path.read_text("utf-8")
    )
    return set(content) - {"artifact"}


def test_every_file_of_a_finished_study_is_in_the_reference_with_its_columns(
    finished_study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    known = [(pattern(path), file) for file in files_of_a_study() for path in file.paths]
    results = finished_study / "results"
    wrong = []
    for path in sorted(p for p in results.rglob("*") if p.is_file() and p.name != "README.md"):
        name = path.relative_to(results).as_posix()
        found = [file for wanted, file in known if wanted.fullmatch(name)]
        if not found:
            wrong.append(f"{name} is in no entry")
            continue
        columns = next((file.columns for file in found if file.columns), {})
        if path.suffix == ".parquet" and columns:
            there = {n: type_in_words(kind) for n, kind in pl.read_parquet_schema(path).items()}
            wrong += [f"{name}: {there} instead of {columns}"] if there != columns else []
        elif path.suffix in (".json", ".jsonl") and columns:
            wrong += [f"{name}: {key}" for key in sorted(keys_of(path) - columns.keys())]
    assert wrong == []
