"""The reference of results is what the registry, the schemas and the descriptions say."""

import re
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.tables.reference import (
    COLUMNS,
    PAGE,
    StoredFile,
    meaning,
    reference,
    stored_files,
    stored_tables,
    type_in_words,
)
from userturn.workflow.registry import TABLES


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def described() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = yaml.safe_load(COLUMNS.read_text("utf-8"))
    return found


@pytest.fixture
def files(described: dict[str, dict[str, str]]) -> list[StoredFile]:
    return [*stored_tables(described["rows"]), *stored_files()]


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "results/README.md is stale: run python -m userturn.tables.reference"
    )


def test_every_column_says_what_it_means(
    files: list[StoredFile], described: dict[str, dict[str, str]]
) -> None:
    silent = [
        f"{file.name}.{column}"
        for file in files
        for column in file.columns
        if not meaning(described["columns"], file.name, column)
    ]
    assert silent == [], "describe them in data/columns.yaml"


def test_every_description_has_a_column(
    files: list[StoredFile], described: dict[str, dict[str, str]]
) -> None:
    columns = described["columns"]
    used = {
        name if (name := f"{file.name}.{column}") in columns else column
        for file in files
        for column in file.columns
    }
    assert sorted(columns.keys() - used) == [], "remove them from data/columns.yaml"


def test_every_table_says_what_a_row_is(described: dict[str, dict[str, str]]) -> None:
    assert described["rows"].keys() == TABLES.keys()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (pl.String, "text"),
        (pl.UInt32, "integer"),
        (pl.List(pl.Int32), "list of integers"),
        (pl.List(pl.Struct({"role": pl.String, "text": pl.String})), "list of role and text"),
    ],
)
def test_types_are_said_in_words(kind: Any, words: str) -> None:
    assert type_in_words(kind) == words


def test_no_name_is_described_twice() -> None:
    names = re.findall(r"^  ([\w.]+):", (ROOT / "data" / "columns.yaml").read_text(), re.MULTILINE)
    rows, columns = names[: len(TABLES)], names[len(TABLES) :]
    assert len(set(rows)) == len(rows) and len(set(columns)) == len(columns)
