"""The configuration: the first mistake is told in one sentence, with the cure."""

import copy
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.check import check
from userturn.config.recipes import recipe_schema
from userturn.config.schema import config_schema
from userturn.errors import ConfigError

MINE = {"file": "data/mine.jsonl", "fields": {"prompt": "q"}, "verifier": "none"}


def message(config: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as error:
        check(config)
    return str(error.value)


def test_shipped_config_is_right(config: dict[str, Any]) -> None:
    check(config)


def test_missing_key_is_named(config: dict[str, Any]) -> None:
    del config["seed"]
    assert message(config).startswith("config: the key 'seed' is missing; add it: ")


def test_demo_is_right_when_merged(config: dict[str, Any]) -> None:
    demo = yaml.safe_load((ROOT / "profiles" / "demo" / "study.yaml").read_text())
    for key, value in demo.items():
        config[key] = config.get(key, {}) | value
    check(config)


def test_integer_temperature_selects_its_float(config: dict[str, Any]) -> None:
    config["run"] = {"temperatures": [1]}
    check(config)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (
            "models.mine",
            {"source": "org/mine", "gpu": 2},
            "models.mine: unknown key 'gpu', did you",
        ),
        ("temperature", [0], "config: unknown key 'temperature', did you mean 'temperatures'?"),
        ("run.models", ["qwen3.5-08b"], "run.models: 'qwen3.5-08b' is not defined, did you mean"),
        ("run.perturbations", ["zzz"], "run.perturbations: 'zzz' is not defined; expected one of:"),
        ("run.temperatures", [0.9], "run.temperatures: '0.9' is not defined"),
        (
            "answer.max_tokens",
            16384,
            "answer.max_tokens: found 16384, which leaves no room for a prompt in the 16384 tokens",
        ),
        (
            "models.mine",
            {"source": "org/mine", "answer": {"max_tokens": 20000}},
            "models.mine.answer.max_tokens: found 20000, which leaves no room",
        ),
        (
            "models.wide",
            {"source": "org/wide", "gpus": 9, "nodes": 2},
            "models.wide.gpus: found 9 for 2 nodes; expected as many on each node",
        ),
        ("answer.max_tokens", "many", "answer.max_tokens: found 'many', expected a whole number"),
        ("max_error_share", 2, "max_error_share: found 2, expected at most 1"),
        (
            "datasets.gsm8k.fields.prompt",
            None,
            "datasets.gsm8k.fields.prompt: found None, expected text or a list such as [a, b]",
        ),
        (
            "likelihood",
            "off",  # in quotes, so a text
            "likelihood: found 'off', expected `off` (without quotes), or the keys `datasets`, "
            "`turns` and `distractors`",
        ),
        ("seed", "x" * 999, "seed: found '" + "x" * 199 + "..., expected a whole number"),
        ("user_turn.top_p", 0, "user_turn.top_p: found 0, expected above 0"),
        ("temperatures", [], "temperatures: found [], expected a list of at least 1"),
        ("temperatures", [float("inf")], "temperatures.0: found inf, expected a number"),
        ("max_error_share", 10**400, "max_error_share: found 1000"),
        ("max_error_share", float("nan"), "max_error_share: found nan, expected a number"),
        (
            "models",
            {"Big Model": "org/x"},
            "models: the name 'Big Model' may only contain a-z, 0-9",
        ),
        ("temperatures", [0, 7], "temperatures.1: found 7, expected at most 2"),  # [0,7]
        ("temperatures", 0.7, "temperatures: found 0.7, expected a list such as [0.7]"),
        ("models.mine", {"source": 7}, "models.mine.source: found 7, expected text: put it in"),
        ("engine", "vLLM", "engine: found 'vLLM', expected one of: vllm, transformers"),
        ("max_cost", "$5", "max_cost: found '$5', expected a number or nothing"),
        (
            "datasets.gsm8k.hub",
            "https://huggingface.co/datasets/openai/gsm8k",
            "datasets.gsm8k.hub: found 'https://huggingface.co/datasets/openai/gsm8k', expected an "
            "id on the hub such as openai/gsm8k",
        ),
        ("datasets.gsm8k.hub", "openai/gsm8k ", "datasets.gsm8k.hub: found 'openai/gsm8k '"),
        ("answer", 96, "answer: found 96, expected keys with values, such as `top_p: ...`"),
        ("models", None, "models: found None, expected keys with values"),
        ("models", {"m" * 81: "org/x"}, f"models: '{20 * 'm'}...' has 81 characters, expected at"),
        ("datasets.labelled", MINE, "datasets: 'labelled' is the name of something else in the"),
        ("models.human", "org/x", "models: 'human' is the name of something else in the results"),
    ],
)
def test_wrong_value_is_told_with_what_was_expected(
    config: dict[str, Any], path: str, value: object, said: str
) -> None:
    *parents, last = path.split(".")
    part = config
    for key in parents:
        part = part[key]
    part[last] = value
    assert message(config).startswith(said)


def test_missing_file_of_a_selected_dataset_is_named(config: dict[str, Any]) -> None:
    selected = config["run"]["datasets"]
    told = {
        "data/nowhere.jsonl": "does not exist or is not a file",
        "data": "is neither a file nor a folder that `save_to_disk`",
    }
    for file, said in told.items():
        config["datasets"]["mine"] = MINE | {"file": file}
        config["run"]["datasets"] = selected
        check(config)
        config["run"]["datasets"] = ["mine"]
        assert f"datasets.mine: '{file}' {said}" in message(config)


SPLIT = {"hub": "o/x", "revision": "0" * 40, "fields": {"messages": "m"}, "verifier": "none"}


def test_dataset_is_a_file_or_a_split_of_the_hub_and_not_both(config: dict[str, Any]) -> None:
    config["run"]["datasets"] = ["mine"]
    more = {"config": "c", "split": "test", "files": ["a*"], "roles": {"bot": "assistant"}}
    config["datasets"]["mine"] = SPLIT | more
    check(config)
    config["datasets"]["mine"] = SPLIT | {"file": "f", "split": "test"}
    assert message(config) == (
        "datasets.mine.split: found 'test', which belongs to a split of `hub`, without `file`; "
        "leave one of the two out"
    )
    for key, value in {"sha256": "0" * 64, "rows": 3, "columns": ["a"]}.items():
        config["datasets"]["mine"] = SPLIT | {key: value}
        assert message(config).startswith(f"datasets.mine.{key}: found {value!r}, which belongs to")
    config["datasets"]["mine"] = SPLIT | {"file": "data/*.parquet"}
    assert message(config).endswith("give patterns and lists as `files`, without `file`")
    config["datasets"]["mine"] = {key: SPLIT[key] for key in ("fields", "verifier")}
    assert message(config).startswith("datasets.mine: the key 'file' is missing; add it")
    config["datasets"]["mine"] = SPLIT | {"roles": {"bot": "robot"}}
    assert "found 'robot', expected one of: system, user, assistant" in message(config)


def test_every_key_of_the_shipped_config_has_a_comment() -> None:
    lines = (ROOT / "config.yaml").read_text().splitlines()
    tops = [i for i, line in enumerate(lines) if line[:1].isalpha()]
    bare = [lines[i] for i in tops if not lines[i - 1].startswith("#")]
    assert bare == []


def test_check_leaves_the_config_as_it_is(config: dict[str, Any]) -> None:
    before = copy.deepcopy(config)
    check(config)
    assert config == before


def test_schema_closes_every_object() -> None:
    schema = {"properties": {"study": config_schema(), "recipe": recipe_schema()}}

    def open_objects(part: Any, where: str) -> list[str]:
        if not isinstance(part, dict) or where.endswith(".if"):  # a condition closes nothing
            return []
        is_object = "properties" in part and part.get("additionalProperties") is not False
        inside = [w for key, value in part.items() for w in open_objects(value, f"{where}.{key}")]
        return [where] * is_object + inside

    assert open_objects(schema["properties"], "schema") == []


def test_no_line_of_the_shipped_config_is_wider_than_a_screen() -> None:
    lines = (ROOT / "config.yaml").read_text().splitlines()
    assert [n for n, line in enumerate(lines, 1) if len(line) > 110] == []
