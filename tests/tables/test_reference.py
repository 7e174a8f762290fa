"""The reference of results is what the registry, the schemas and the descriptions say."""

import re
from typing import Any

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.tables.reference import (
    COLUMNS,
    PAGE,
    StoredFile,
    meaning,
    meanings,
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
def described() -> dict[str, str]:
    return meanings()


@pytest.fixture
def files() -> list[StoredFile]:
    return [*stored_tables(), *stored_files()]


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "results/README.md is stale: run python -m userturn.tables.reference"
    )


def test_every_column_says_what_it_means(
    files: list[StoredFile], described: dict[str, str]
) -> None:
    silent = [
        f"{file.name}.{column}"
        for file in files
        for column in file.columns
        if not meaning(described, file.name, column)
    ]
    assert silent == [], "describe them in MEANINGS of the table, or in data/columns.yaml"


def test_every_description_has_a_column(files: list[StoredFile], described: dict[str, str]) -> None:
    columns = described
    used = {
        name if (name := f"{file.name}.{column}") in columns else column
        for file in files
        for column in file.columns
    }
    assert sorted(columns.keys() - used) == [], "remove them from data/columns.yaml"


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
    names = re.findall(r"^  ([\w.]+):", COLUMNS.read_text("utf-8"), re.MULTILINE)
    assert len(set(names)) == len(names) > 100
    assert not {name.partition(".")[0] for name in names if "." in name} & TABLES.keys()
