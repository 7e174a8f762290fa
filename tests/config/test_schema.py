"""What the schema lets a configuration name is what the code knows, no more and no less."""

from importlib import import_module

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.dataset_keys import verifiers
from userturn.config.recipes import recipe_schema
from userturn.config.schema import config_schema
from userturn.models.engine import LOADERS
from userturn.prompts.perturbations import OPERATORS


def test_verifiers_of_the_schema_are_the_files_of_grading() -> None:
    entry = config_schema()["properties"]["datasets"]["additionalProperties"]
    found = entry["properties"]["verifier"]["enum"]
    assert found == ["none", "code", "ifbench", "ifeval", "math", "numeric", "rubric"]


@pytest.mark.parametrize("name", sorted({*verifiers()} - {"rubric"}))
def test_every_verifier_grades_no_cases_as_none(name: str) -> None:
    assert import_module(f"userturn.grading.{name}").verify([], 1) == []


def test_rubric_asks_a_judge() -> None:
    assert callable(import_module("userturn.grading.rubric").grade_by_rubric)


def test_a_reward_names_verifiers_that_there_are() -> None:
    enums = [node["enum"] for node in nodes(recipe_schema(), "verifier")]
    assert enums and all(set(names) <= set(verifiers()) for names in enums)


def nodes(schema: object, key: str) -> list[dict[str, list[str]]]:
    """Return every schema of a key, at whatever depth."""
    if not isinstance(schema, dict):
        return []
    own = [schema[key]] if isinstance(schema.get(key), dict) else []
    return own + [found for value in schema.values() for found in nodes(value, key)]


def test_engines_of_the_schema_are_those_that_load() -> None:
    assert sorted(config_schema()["properties"]["engine"]["enum"]) == sorted(LOADERS)


def test_shipped_perturbations_use_every_operator_and_no_other() -> None:
    entries = yaml.safe_load((ROOT / "config.yaml").read_text())["perturbations"]
    assert {entry["operator"] for entry in entries.values()} == set(OPERATORS)


def test_model_defaults_must_give_each_resource_that_is_read_without_asking() -> None:
    required = config_schema()["properties"]["model_defaults"]["required"]
    assert "mem_mb" in required and "gpu_model" not in required


def test_training_is_one_process() -> None:
    model = config_schema()["properties"]["models"]["additionalProperties"]["properties"]
    gpus = model["training"]["properties"]["gpus"]
    assert (model["gpus"].get("maximum"), gpus["maximum"]) == (None, 1)
