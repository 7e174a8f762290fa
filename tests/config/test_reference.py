"""The configuration reference is what the schema and the shipped configuration say."""

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.config.reference import PAGE, reference, rows
from userturn.config.schema import config_schema


def test_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    made = reference(config_schema(), load_config(["config.yaml"]))
    assert PAGE.read_text(encoding="utf-8") == made, (
        "docs/reference_config.md is stale: run python -m userturn.config.reference"
    )


def test_every_key_says_what_it_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    schema = config_schema()
    found = list(rows("config", schema, {}))[1:]
    assert [row.key for row in found if not row.schema.get("description")] == []


def test_a_row_has_type_default_and_meaning() -> None:
    size = {"type": "integer", "minimum": 1, "description": "How many."}
    schema = {
        "properties": {
            "models": {"type": "object", "additionalProperties": {"properties": {"n": size}}}
        }
    }
    page = reference(schema, {"model_defaults": {"n": 3}})
    assert "| `models.<name>.n` | integer, at least 1 | `3` | How many. |\n" in page
