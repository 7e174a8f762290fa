"""Complete the entries of trained models with the keys that they inherit from their base."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from userturn.config.chat_models import as_chat, is_chat
from userturn.config.endpoint_models import NO_JOB, has_endpoint
from userturn.config.entries import Config, selected
from userturn.config.errors import ConfigError, near_miss
from userturn.config.families import family
from userturn.config.formats import entry_in_format, formats, in_format, models_in_formats
from userturn.config.former_trainings import ROUNDED_VERSION, version_of
from userturn.config.model_keys import ModelEntry
from userturn.config.recipes import check_recipe
from userturn.config.repeated_trainings import check_repeated


def trained_folder(results: str | Path, model: str) -> str:
    """Return the folder of a trained model, as an entry's `source` names it."""
    path = f"{results}/training/{model}/model"
    return path if Path(path).is_absolute() else f"./{path}"


def is_rounded(results: str | Path, model: str) -> bool:
    """Return whether an earlier version merged a trained model, in the number type of its base.

    A study keeps such a model as it is, and the number type that its requests were made in.
    """
    return version_of(Path(results, "training", model, "training.json")) == ROUNDED_VERSION


def chain(entries: Mapping[str, Any], model: str) -> list[str]:
    """Return a model and its bases, down to one that was not trained here.

    Raises:
        ConfigError: a base is not a model, or is trained from this model.
    """
    names = [model]
    while isinstance(entry := entries[names[-1]], Mapping) and "recipe" in entry:
        base = entry["base"]
        if base not in entries:
            near = near_miss(base, entries)
            raise ConfigError(f"models.{names[-1]}.base: '{base}' is not a model{near}")
        if base in names:
            raise ConfigError(f"models.{model}.base: '{base}' is trained from itself; name another")
        names.append(base)
    return names


def described(config: Config) -> list[str]:
    """Return the models of a run in its formats, and those that they were trained from, sorted."""
    entries = config["models"]
    bases = {name for model in selected(config, "models") for name in chain(entries, model)}
    return sorted(bases.union(models_in_formats(config)))


def complete_entries(config: Config, results: str | Path) -> dict[str, ModelEntry]:
    """Return every model's complete entry, in each format of the run.

    A trained one inherits what it does not set.
    """
    entries = config["models"]
    found = {name: _complete(config, results, chain(entries, name)) for name in entries}
    others = {
        in_format(model, name): entry_in_format(entry, name, choices)
        for name, choices in formats(config).items()
        for model, entry in found.items()
    }
    return dict(sorted((found | others).items()))


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
        own = {"source": trained_folder(results, name), "revision": "main"}
        own |= {} if is_rounded(results, name) else {"dtype": "float32"}
        entry = inherited | own | config["models"][name]
    return cast(ModelEntry, entry)


def training_entry(entry: ModelEntry) -> ModelEntry:
    """Return the resources of a trained model's training: its `training`, else its entry."""
    one_process = {"gpus": min(1, int(entry["gpus"])), "nodes": 1}
    return cast(ModelEntry, {**entry, **one_process, **entry.get("training", {})})


def check_trained(config: Config) -> None:
    """Check the base and recipe of every trained model.

    Raises:
        ConfigError: the first one that is not valid.
    """
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
