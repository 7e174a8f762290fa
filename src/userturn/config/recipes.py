"""Recipes: what a base is trained on, how, and towards what; each a file of data/recipes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from userturn.config.check import check_values
from userturn.config.described import object_schema
from userturn.config.entries import Config
from userturn.config.errors import ConfigError, near_miss
from userturn.config.recipe_keys import RecipeKeys
from userturn.config.schema import NEEDS_COMMIT
from userturn.storage.given_files import given_text
from userturn.storage.hashing import file_sha256, fingerprint

RECIPES = Path("data/recipes")
# What an endpoint is told, by what it is asked for; a judge of follow-ups has a prompt of its own.
PROMPTS = {
    "simulator": Path("data/simulator_prompt.txt"),
    "interactivity": Path("data/interactivity_prompt.txt"),
}
TRAINING_VERSION = 1  # of the code: another one trains every model anew
# These keys say where a model runs and what it is asked; they do not affect what is learnt.
NOT_LEARNT = frozenset(("engine", "max_model_len"))
# Says how results are to be read; files count by their contents.
DECLARED = frozenset(("trained_on", "trains_on_the_metric", "data"))

Recipe = Mapping[str, Any]
ITS_METHOD = {
    "if": {"properties": {"method": {"const": "sft"}}},
    "then": {"required": ["sft"]},
    "else": {"required": ["grpo"]},
}
FOLLOW_UPS = {"properties": {"rewards": {"required": ["followup"]}}}
SAYS_SO = {
    "if": {"required": ["grpo"], "properties": {"grpo": FOLLOW_UPS}},
    "then": {
        "required": ["trains_on_the_metric"],
        "properties": {"trains_on_the_metric": {"const": True}},
    },
}


def recipe_schema() -> dict[str, Any]:
    """Return the JSON Schema of a recipe."""
    schema = object_schema(RecipeKeys)
    schema["properties"]["data"]["items"] |= NEEDS_COMMIT
    return schema | {"allOf": [ITS_METHOD, SAYS_SO]}


def load_recipe(name: str) -> dict[str, Any]:
    """Return a recipe by its name.

    Raises:
        ConfigError: there is no such recipe, or it is not valid.
    """
    path = RECIPES / f"{name}.yaml"
    if not path.is_file():
        near = near_miss(name, (found.stem for found in RECIPES.glob("*.yaml")))
        raise ConfigError(f"recipe '{name}': there is no file '{path}'{near}")
    try:
        recipe: dict[str, Any] = yaml.safe_load(given_text(path))
    except yaml.YAMLError as error:
        raise ConfigError(
            f"'{path}' is not YAML ({str(error).splitlines()[0]}); correct it"
        ) from None
    check_values(recipe, recipe_schema(), (str(path),))
    return recipe


def endpoints_of(recipe: Recipe) -> dict[str, str]:
    """Return the judges of the config that a recipe asks, by purpose."""
    drawn = recipe.get("grpo", {})
    rewards = drawn.get("rewards", {})
    named = {
        "simulator": drawn.get("simulator", {}).get("endpoint"),
        "interactivity": rewards.get("interactivity", {}).get("endpoint"),
        "followup": rewards.get("followup", {}).get("judge"),
    }
    return {what: name for what, name in named.items() if name is not None}


def check_recipe(name: str, config: Config) -> None:
    """Check that this configuration can follow a recipe.

    Raises:
        ConfigError: the recipe, or a file, dataset or judge that it names, does not exist.
    """
    recipe, where = load_recipe(name), f"{RECIPES / name}.yaml"
    for dataset in recipe["trained_on"]:
        if dataset not in config["datasets"]:
            near = near_miss(dataset, config["datasets"])
            raise ConfigError(f"{where}: trained_on: '{dataset}' is not a dataset{near}")
    for part in recipe["data"]:
        if "hub" not in part and not Path(part["file"]).is_file():
            raise ConfigError(
                f"{where}: the file '{part['file']}' does not exist; correct the path under `data`"
            )
    drawn = recipe.get("grpo", {"turn": None, "rewards": {}})
    for reward in drawn["rewards"]:
        if (reward == "followup") != (drawn["turn"] == "user"):
            raise ConfigError(
                f"{where}: the reward '{reward}' is not for a turn of the {drawn['turn']}: "
                "followup rewards the user's turn, all others the assistant's; correct `rewards`"
            )
    for what, judge in endpoints_of(recipe).items():
        if judge not in config["judges"]:
            near = near_miss(judge, config["judges"])
            raise ConfigError(
                f"{where}: {what}: '{judge}' is not among the config's judges{near}; give it an "
                "entry under `judges`"
            )


def data_identity(recipe: Recipe) -> list[dict[str, Any]]:
    """Return the identity of a recipe's files: their content, or hub path and revision."""
    return [
        part if "hub" in part else part | {"file": file_sha256(part["file"])}
        for part in recipe["data"]
    ]


def training_identity(
    recipe: Recipe, base: Mapping[str, Any], judges: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the identity of a training: recipe, data, base and version of the code.

    Args:
        recipe: the parsed recipe, so that its comments do not count.
        base: identity of the base and its template.
        judges: identity of each judge that it asks, by name.
    """
    asked = endpoints_of(recipe)
    return fingerprint(
        {
            "version": TRAINING_VERSION,
            "recipe": {key: value for key, value in recipe.items() if key not in DECLARED},
            "data": data_identity(recipe),
            "base": {key: value for key, value in base.items() if key not in NOT_LEARNT},
            "judges": dict(judges),
            "prompts": {what: file_sha256(PROMPTS[what]) for what in asked if what in PROMPTS},
        }
    )
