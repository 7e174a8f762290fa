"""What a recipe may say, what a trained model's entry has from its base, what identifies both."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.config.recipes import RECIPES, check_recipe, load_recipe
from userturn.config.trained_models import training_identity
from userturn.errors import ConfigError
from userturn.study.grid import Grid
from userturn.workflow.startup import checked_study

ENDPOINT = {
    "kind": "endpoint",
    "base_url": "http://127.0.0.1:1/v1",
    "model": "m",
    "settings": {"max_tokens": 9},
}
TINY = {"source": "data", "gpus": 2, "nodes": 2, "dtype": "float32", "user_header": "U"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that a config names, where they may be changed."""
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(**models: Any) -> dict[str, Any]:
    """The shipped config with a few models of its own."""
    loaded = load_config([ROOT / "config.yaml"])
    loaded["models"] = {"base-1b": dict(TINY), **models}
    loaded["judges"]["simulator"] = ENDPOINT
    return loaded


def edited(recipe: str, old: str, new: str) -> None:
    path = RECIPES / f"{recipe}.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def identity(recipe: str = "demo-sft") -> str:
    return Grid(config(x={"base": "base-1b", "recipe": recipe})).training_identity("x")


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / RECIPES).glob("*.yaml")))
def test_every_shipped_recipe_can_be_followed(project: Path, name: str) -> None:
    check_recipe(name, config())


def test_unknown_recipe_names_the_one_most_like_it(project: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'sft-collab'"):
        load_recipe("sft-colab")


REWARD = "    followup: {weight: 1, judge: heuristic}"


@pytest.mark.parametrize(
    ("recipe", "old", "new", "said"),
    [
        ("demo-sft", "alpha:", "alfa:", r"demo-sft\.yaml\.lora: unknown key 'alfa'"),
        ("demo-rl", "trains_on_the_metric: true\n", "", "'trains_on_the_metric' is missing"),
        ("demo-rl", REWARD, "    length: {weight: 1}", "'length' is not for a turn of the user"),
        (
            "demo-sft",
            "trained_on: []",
            "trained_on: [gsm8]",
            "is not a dataset, did you mean 'gsm8",
        ),
        (
            "sft-shuffled",
            "loss_on: [user]",
            "loss_on: [assistant, user]",
            r"with `shuffled`, expected .user., since answers to",
        ),
        ("demo-sft", "  epochs: 1  ", "  steps: 9\n  epochs: 1  ", "found epochs and steps, exp"),
        ("demo-sft", "  epochs: 1  ", "", "found no length, expected `steps`"),
        ("demo-rl", "  steps: 12", "  epochs: 12", "found epochs, expected `steps`"),
    ],
)
def test_recipe_that_cannot_be_followed_is_refused_in_a_sentence(
    project: Path, recipe: str, old: str, new: str, said: str
) -> None:
    edited(recipe, old, new)
    with pytest.raises(ConfigError, match=said):
        check_recipe(recipe, config())


@pytest.mark.parametrize(
    ("old", "new", "is_learnt"),
    [
        ("# over 108 turns", "# over all turns", False),
        ("trained_on: []", "trained_on: [gsm8k]", False),
        ("rank: 16", "rank: 17", True),
    ],
)
def test_comments_and_declarations_are_no_part_of_what_is_learnt(
    project: Path, old: str, new: str, is_learnt: bool
) -> None:
    before = identity()
    edited("demo-sft", old, new)
    assert (identity() != before) is is_learnt


def test_content_of_a_data_file_is_part_of_the_identity_and_its_name_is_not(project: Path) -> None:
    before, path = identity(), Path("data/training/everyday_conversations.jsonl")
    path.rename(path.with_name("moved.jsonl"))
    edited("demo-sft", "everyday_conversations.jsonl", "moved.jsonl")
    assert identity() == before
    path.with_name("moved.jsonl").write_bytes(path.with_name("moved.jsonl").read_bytes() + b"\n")
    assert identity() != before


def test_base_is_part_of_the_identity_and_the_engine_of_the_sweep_is_not(project: Path) -> None:
    entry = {"base": "base-1b", "recipe": "demo-sft"}
    study = config(x=entry)
    before = Grid(study).training_identity("x")
    study["engine"] = "transformers"
    assert Grid(study).training_identity("x") == before
    study["models"]["base-1b"]["source"] = "data/demo"
    assert Grid(study).training_identity("x") != before


def test_simulators_prompt_is_part_of_the_identity(project: Path) -> None:
    before = identity("rl-collab")
    Path("data/simulator_prompt.txt").write_text("You are a user.")
    assert identity("rl-collab") != before


def test_trained_model_has_from_its_base_what_its_line_does_not_say(project: Path) -> None:
    entry = {"base": "base-1b", "recipe": "demo-sft", "gpus": 4, "training": {"mem_mb": 9}}
    study = checked_study(config(x=entry))
    found = study.grid.models["x"]
    assert (found["user_header"], found["gpus"], found["family"]) == ("U", 4, "base")
    assert found["source"] == "./results/training/x/model"

    class Job:
        model = "x"

    # Its training is one process: one GPU at most, on one node.
    asked = study.training.resources.functions()
    assert [asked[name](Job, 1) for name in ("gpu", "nodes", "mem_mb")] == [1, 1, 9]


def test_trained_model_is_swept_in_float32_unless_its_line_says_otherwise(project: Path) -> None:
    entry = {"base": "base-1b", "recipe": "demo-sft"}
    study = config(x=entry, y=entry | {"dtype": "bfloat16"})
    study["models"]["base-1b"]["dtype"] = "bfloat16"
    assert [Grid(study).entries[name]["dtype"] for name in "xy"] == ["float32", "bfloat16"]


def test_model_that_an_earlier_version_trained_stays_as_it_is(project: Path) -> None:
    study = config(x={"base": "base-1b", "recipe": "demo-sft"})
    study["models"]["base-1b"]["dtype"] = "bfloat16"
    base = Grid(study).contents.models["x"] | {"dtype": "bfloat16"}
    study["run"]["models"] = ["base-1b", "x"]
    of_base = Grid(study).contents.models["base-1b"]
    before = training_identity(load_recipe("demo-sft"), of_base, {}, 1)
    record = Path("results/training/x/training.json")
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"version": 1, "training": before}))
    assert Grid(study).training_identity("x") == before
    assert Grid(study).contents.models["x"] == base | {"source": f"trained:{before}"}
    for epochs in (2, None):  # as the version before shipped it, and as 4e01b3b did
        former = load_recipe("demo-sft")
        former["optimisation"]["epochs"], former["sft"]["max_tokens"] = epochs, 256
        if epochs is None:
            del former["optimisation"]["epochs"], former["sft"]["validation"]
            former["optimisation"]["steps"] = 40
        before = training_identity(former, of_base, {}, 1)
        record.write_text(json.dumps({"version": 1, "training": before, "recipe": former}))
        assert Grid(study).training_identity("x") == before
        assert Grid(study).contents.recipes["x"] == former
    edited("demo-sft", "rank: 16", "rank: 17")  # another training, which this version makes
    assert Grid(study).training_identity("x") != before


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"x": {"base": "base-1c", "recipe": "demo-sft"}}, "did you mean 'base-1b'"),
        ({"x": {"base": "x", "recipe": "demo-sft"}}, "'x' is trained from itself"),
        ({"x": {"recipe": "demo-sft"}}, "the key 'base' is missing"),
        ({"x": {"base": "base-1b"}}, "the key 'source' is missing"),
        (
            {"x": {"base": "base-1b", "recipe": "demo-sft", "source": "data"}},
            "found both `source` and `recipe`",
        ),
    ],
)
def test_line_that_cannot_be_trained_is_refused_in_a_sentence(
    project: Path, entries: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        checked_study(config(**entries))


def test_base_whose_folder_is_not_there_is_refused_in_a_sentence(project: Path) -> None:
    study = config(x={"base": "base-1b", "recipe": "demo-sft"})
    study["models"]["base-1b"] = "./models/nowhere"
    with pytest.raises(Exception, match=r"model source '\./models/nowhere' does not exist"):
        Grid(study).model_fingerprint("x")


def test_shipped_examples_of_trained_models_in_the_config_are_lines_that_hold() -> None:
    text = (ROOT / "config.yaml").read_text()
    entries = [entry.removeprefix("  # ") for entry in text.splitlines() if "recipe:" in entry]
    assert entries
    for entry in entries:
        assert {"base", "recipe"} <= set(next(iter(yaml.safe_load(entry).values())))
