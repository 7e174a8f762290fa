"""What shapes an output is listed; every other key of the schema leaves identities alone."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.formats import OF_ROLE_PLAY
from userturn.config.job_resources import SETTINGS
from userturn.config.schema import config_schema
from userturn.datasets.fetch import OF_HUB, OF_SPLIT, SHAPES_ITEMS, complete, shaping
from userturn.judges.kinds import judge_identity
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import write_table
from userturn.study.contents import SHAPES_OUTPUT, FileContents
from userturn.study.grid import Grid

# `source` counts by the model's files; `recipe`, `repetition` and `base` by the training of them.
MODEL = {
    "shapes": {
        *(*SHAPES_OUTPUT, "source", "revision", "chat_template", "answer", "system", "vllm"),
        *("endpoint", "served_as"),  # that a server has the model, and under which name
        *("probe", "api", *OF_ROLE_PLAY),
    },
    "does not": {
        *(*SETTINGS, "family", "size", "training", "base", "recipe", "seeds", "repetition"),
        *("key_variable", "price", "concurrency", "timeout", "attempts"),
    },
}
# The content of a file shapes, not its name; `hub` and `revision` say whose content, unless pinned.
DATASET = {
    "shapes": {*SHAPES_ITEMS, *OF_HUB, *OF_SPLIT, "sha256"},
    "does not": {"rows", "verifier", "private", "export"},
}
JUDGE = {
    "shapes": {
        *("model", "settings", "reply", "rationale_characters", "draws", "rubric", "prompt"),
        *("revision", "vllm", "serve", "kind", "template_options"),
        *("restated", "grounded", "repeated", "arguable"),
    },
    "does not": {
        *("base_url", "key_variable", "price", "concurrency", "timeout", "attempts", "batch"),
        *(key for key, setting in SETTINGS.items() if "serve_judge" in setting.rules),
    },
}


@pytest.fixture(autouse=True)
def in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def keys_of(entry: str) -> set[str]:
    return set(config_schema()["properties"][entry]["additionalProperties"]["properties"])


@pytest.mark.parametrize(
    ("entry", "groups"), [("models", MODEL), ("datasets", DATASET), ("judges", JUDGE)]
)
def test_every_key_of_the_schema_is_in_exactly_one_group(
    entry: str, groups: dict[str, set[str]]
) -> None:
    assert groups["shapes"] & groups["does not"] == set()
    assert groups["shapes"] | groups["does not"] == keys_of(entry)


OTHER: dict[str, Any] = {
    "dtype": "float16",
    "max_model_len": 65,
    "enable_thinking": True,
    "trust_remote_code": True,
    "user_header": "U",
    "stop": ["S"],
    "merge_system_message": True,
    "template_options": {"a": 1},
    "answer": {"max_tokens": 7},
    "source": "other/model",
    "revision": "0" * 40,
    "gpu_model": "h100",
    "family": "f",
    "size": "7b",
    "header": "bare",
    "system": "none",
    "vllm": {"kv_cache_dtype": "fp8"},
    "base": "glm-4.7",
    "training": {"gpus": 1},
    "endpoint": "http://here/v1",
    "probe": "role_play",
}
SERVED = {"endpoint": "http://here/v1", "served_as": "name"}


def answers_identity(**own: Any) -> str:
    config = yaml.safe_load(Path("config.yaml").read_text())
    config["run"] = {"models": ["mine"], "datasets": ["gsm8k"]}
    config["models"]["mine"] = {"source": "some/model"} | own
    return Grid(config).answers_identity("mine", "gsm8k")


BESIDE_OTHERS = {"chat_template", "served_as", "api", *OF_ROLE_PLAY}


@pytest.mark.parametrize("key", sorted(MODEL["shapes"] - BESIDE_OTHERS))
def test_answers_have_another_identity_by_a_key_that_shapes_them(key: str) -> None:
    assert answers_identity(**{key: OTHER[key]}) != answers_identity()


def test_a_served_model_is_known_by_its_name_on_the_server_and_not_by_the_address() -> None:
    served = answers_identity(**SERVED)
    assert answers_identity(**SERVED | {"endpoint": "https://there/v1"}) == served
    assert answers_identity(**SERVED | {"served_as": "other"}) != served
    assert answers_identity(endpoint="http://here/v1", served_as="some/model") == answers_identity(
        endpoint="http://here/v1"
    )


def test_a_model_behind_a_chat_api_is_another_than_that_behind_a_server_of_completions() -> None:
    chat = answers_identity(**SERVED, api="chat")
    assert chat != answers_identity(**SERVED, api="completions")
    assert answers_identity(**SERVED, api="completions") == answers_identity(**SERVED)
    assert answers_identity(**SERVED | {"served_as": "other"}, api="chat") != chat


def test_what_role_play_says_counts_by_its_content_and_how_it_shows_the_roles(
    tmp_path: Path,
) -> None:
    identities = []
    for name, text in [("a", "x"), ("b", "x"), ("a", "y")]:
        (tmp_path / name).write_text(text)
        played = {"probe": "role_play", "instruction": str(tmp_path / name)}
        identities.append(answers_identity(**played))
    assert identities[0] == identities[1] != identities[2]
    assert answers_identity(**played, roles="quoted") != identities[2]
    assert answers_identity(**played, roles="swapped") == identities[2]


def test_a_template_counts_by_its_content(tmp_path: Path) -> None:
    identities = []
    for name, text in [("a", "x"), ("b", "x"), ("a", "y")]:
        (tmp_path / name).write_text(text)
        identities.append(answers_identity(chat_template=str(tmp_path / name)))
    assert identities[0] == identities[1] != identities[2]


@pytest.mark.parametrize("key", sorted(MODEL["does not"] - {"recipe"}))
def test_answers_keep_their_identity_by_a_key_that_does_not_shape_them(key: str) -> None:
    assert answers_identity(**{key: OTHER.get(key, 3)}) == answers_identity()


def test_a_key_that_nobody_listed_leaves_identities_alone() -> None:
    """A deny-list would give every cell of every model another identity."""
    assert answers_identity(forgotten=1) == answers_identity()


def identity_of_items(entry: dict[str, Any]) -> str:
    return fingerprint(shaping(complete(entry, {"seed": 1})))


ITEMS = {"file": "f", "hub": "h", "revision": "r", "sha256": "0" * 64, "fields": {}, "limit": 3}


@pytest.mark.parametrize("key", SHAPES_ITEMS)
def test_items_have_another_identity_by_a_key_that_shapes_them(key: str) -> None:
    other = {"fields": {"prompt": "q"}, "instruction": "LICENSE", "limit": 4}
    changed = ITEMS | {key: other.get(key, 9)}
    assert identity_of_items(changed) != identity_of_items(ITEMS)


@pytest.mark.parametrize("key", ["hub", "revision", *OF_SPLIT])
def test_items_of_a_split_of_the_hub_have_another_identity_by_what_says_which(key: str) -> None:
    split = {"hub": "h", "revision": "r", "fields": {}}
    assert identity_of_items(split | {key: "other"}) != identity_of_items(split)


@pytest.mark.parametrize("key", sorted(DATASET["does not"]))
def test_items_keep_their_identity_by_a_key_that_does_not_shape_them(key: str) -> None:
    assert identity_of_items(ITEMS | {key: 9}) == identity_of_items(ITEMS)


ENDPOINT = {
    "kind": "endpoint",
    "model": "m",
    "serve": False,
    "rubric": "data/rubric.yaml",
    "prompt": "data/judge_prompt.txt",
}


@pytest.mark.parametrize("key", sorted(JUDGE["does not"]))
def test_verdicts_keep_their_identity_by_a_key_that_does_not_shape_them(key: str) -> None:
    assert judge_identity(ENDPOINT | {key: 9}) == judge_identity(ENDPOINT)


def test_a_study_that_an_earlier_version_graded_keeps_its_grades_until_it_grows(
    tmp_path: Path,
) -> None:
    config = {
        "models": {"a": {}, "b": {}},
        "datasets": {"d": {}},
        "formats": {},
        "run": {"models": ["a"]},
    }
    grades = pl.DataFrame({"correct": [True]})
    write_table(grades, tmp_path / "grades/a/d.parquet", "identity")  # as rules 1 did
    assert FileContents(config, tmp_path).grading == 1
    assert FileContents({**config, "run": {}}, tmp_path).grading == 2  # model b is new
    write_table(grades, tmp_path / "grades/a/d.parquet", "identity", rules="2")
    assert FileContents(config, tmp_path).grading == 2
    assert FileContents(config, tmp_path / "new").grading == 2
