"""Trained models: their complete entries, the datasets they saw, and their identity."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from userturn.config.endpoint_models import NO_JOB, has_endpoint
from userturn.config.entries import Config, selected
from userturn.config.families import check_repeated, family
from userturn.config.formats import (
    as_chat,
    entry_in_format,
    formats,
    is_chat,
    models_in_formats,
    name_in_format,
)
from userturn.config.model_keys import ModelEntry
from userturn.config.recipes import PROMPTS, TRAINING_VERSION, Recipe, check_recipe, endpoints_of
from userturn.errors import ConfigError, check_name
from userturn.storage.hashing import file_sha256, fingerprint

ROUNDED_VERSION = 1  # merged adapters in the number type of their base
# Recipes that earlier versions shipped, by the one that has replaced each (beginnings of
# fingerprints). A study that was trained by one keeps it.
FORMER = {
    "465d6011b51f86be": ("a394012acd652004", "ee0a42f23b8dbc3f"),  # demo-sft
    "f20c31a36c50adda": ("ffd1ba7b0a29c31e",),  # demo-rl
    "99493edcbfe709ce": ("7c3d115c34b1b4c9",),  # rl-collab
    "a0c7ba7f1434994b": ("cef6a965c610d2dd",),  # rl-followup
    "559d706873784a1b": ("fc4a348e9ecc17bc",),  # sft-collab
    "45c35cbc9f37c5f8": ("00b0c48365f8268a",),  # sft-collab-both
}
Entries = Mapping[str, ModelEntry]
Recipes = Mapping[str, Recipe]
# These keys say where a model runs and what it is asked; they do not affect what is learnt.
NOT_LEARNT = frozenset(("engine", "max_model_len"))
# What says how results are to be read, and `data`, whose files count by their contents.
DECLARED = frozenset(("trained_on", "trains_on_the_metric", "data"))


def as_trained(recipe: Recipe, recorded: Recipe | None) -> Recipe:
    """Return a recipe, or the recorded one if an earlier version shipped that in its place."""
    former = FORMER.get(fingerprint(recipe)[:16], ())
    return recorded if recorded and fingerprint(recorded)[:16] in former else recipe


def is_rounded(results: str | Path, model: str) -> bool:
    """Return whether an earlier version merged a trained model in the number type of its base.

    A study keeps such a model, and the number type in which its requests were made.
    """
    path = Path(results, "training", model, "training.json")
    try:
        return int(json.loads(path.read_bytes())["version"]) == ROUNDED_VERSION
    except (OSError, ValueError, LookupError, TypeError):
        return False


def chain(entries: Mapping[str, Any], model: str) -> list[str]:
    """Return the names of a model and its bases, down to the base that was not trained here.

    Raises:
        ConfigError: a base is not a model of the configuration, or is trained from this model.
    """
    names = [model]
    while isinstance(entry := entries[names[-1]], Mapping) and "recipe" in entry:
        base = entry["base"]
        check_name(f"models.{names[-1]}.base", base, entries, "not a model")
        if base in names:
            raise ConfigError(
                f"models.{model}.base: '{base}' is trained from itself; name another base"
            )
        names.append(base)
    return names


def described(config: Config) -> list[str]:
    """Return the sorted names of models to describe: a run's in each format, and their bases."""
    entries = config["models"]
    bases = {name for model in selected(config, "models") for name in chain(entries, model)}
    return sorted(bases.union(models_in_formats(config)))


def complete_entries(config: Config, results: str | Path) -> dict[str, ModelEntry]:
    """Return every model's complete entry, in each format of the run.

    A trained model inherits the keys that it does not set from its base.
    """
    entries = config["models"]
    own = {name: _complete(config, results, chain(entries, name)) for name in entries}
    others = {
        name_in_format(model, name): entry_in_format(entry, name, choices)
        for name, choices in formats(config).items()
        for model, entry in own.items()
    }
    return dict(sorted((own | others).items()))


def _complete(config: Config, results: str | Path, names: list[str]) -> ModelEntry:
    root = config["models"][names[-1]]
    entry: dict[str, Any] = config["model_defaults"] | (
        {"source": root} if isinstance(root, str) else as_chat(root) if is_chat(root) else root
    )
    entry |= NO_JOB if has_endpoint(entry) else {}
    for before, name in reversed(list(zip(names[1:], names[:-1], strict=True))):
        inherited = {"family": family(before), "size": before} | entry
        for name_of_own in ("training", "seeds", "repetition"):
            inherited.pop(name_of_own, None)
        folder = f"{results}/training/{name}/model"
        source = folder if Path(folder).is_absolute() else f"./{folder}"
        own = {"source": source, "revision": "main"}
        own |= {} if is_rounded(results, name) else {"dtype": "float32"}
        entry = inherited | own | config["models"][name]
    return cast("ModelEntry", entry)


def training_entry(entry: ModelEntry) -> ModelEntry:
    """Return a trained model's entry with the resources of its training, for one process."""
    one_process = {"gpus": min(1, int(entry["gpus"])), "nodes": 1}
    return cast("ModelEntry", {**entry, **one_process, **entry.get("training", {})})


def check_trained(config: Config) -> None:
    """Check the base and recipe of every trained model, or raise ConfigError."""
    check_repeated(config)
    for name, entry in sorted(config["models"].items()):
        chain(config["models"], name)
        if isinstance(entry, Mapping) and "recipe" in entry:
            if "source" in entry:
                raise ConfigError(
                    f"models.{name}: found both `source` and `recipe`; a model that a recipe "
                    "trains has no source of its own, remove one of the two"
                )
            check_recipe(entry["recipe"], config)


def recipes_of(entries: Entries, recipes: Recipes, model: str) -> Iterator[Recipe]:
    """Yield the recipes that made a model: its own recipe, and the recipes of its bases."""
    while "recipe" in entries[model]:
        yield recipes[model]
        model = entries[model]["base"]


def trained_on(entries: Entries, recipes: Recipes, model: str) -> set[str]:
    """Return the datasets that the recipes of a model declare."""
    return {name for recipe in recipes_of(entries, recipes, model) for name in recipe["trained_on"]}


def trains_on_the_metric(entries: Entries, recipes: Recipes, model: str) -> bool:
    """Return whether some recipe of a model rewards the verdict that the study reports."""
    recipes_used = recipes_of(entries, recipes, model)
    return any(recipe.get("trains_on_the_metric", False) for recipe in recipes_used)


def learns_user_turns(entries: Entries, recipes: Recipes, model: str) -> bool:
    """Return whether some recipe of a model trains it on user turns, which the study measures."""
    return any(
        "user" in recipe.get("sft", {}).get("loss_on", ())
        or recipe.get("grpo", {}).get("turn") == "user"
        for recipe in recipes_of(entries, recipes, model)
    )


def data_identity(recipe: Recipe) -> list[dict[str, Any]]:
    """Return the identity of a recipe's files: their sha256, or hub path and revision."""
    return [
        part if "hub" in part else part | {"file": file_sha256(part["file"])}
        for part in recipe["data"]
    ]


def training_identity(
    recipe: Recipe,
    base: Mapping[str, Any],
    judges: Mapping[str, Mapping[str, Any]],
    version: int = TRAINING_VERSION,
) -> str:
    """Return the identity of a training: recipe, data, base, judges, prompts and code's version.

    Args:
        recipe: the parsed recipe, so that its comments do not count.
        base: identity of the base and its template.
        judges: identity of each judge that the training asks, by name.
        version: version of the training code.
    """
    asked = endpoints_of(recipe)
    return fingerprint(
        {
            "version": version,
            "recipe": {key: value for key, value in recipe.items() if key not in DECLARED},
            "data": data_identity(recipe),
            "base": {key: value for key, value in base.items() if key not in NOT_LEARNT},
            "judges": dict(judges),
            "prompts": {what: file_sha256(PROMPTS[what]) for what in asked if what in PROMPTS},
        }
    )
