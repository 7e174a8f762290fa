"""Lines of trained models: what they say of their own, and what they have from their base."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.entries import Config, selected
from userturn.config.errors import ConfigError, near_miss
from userturn.config.families import family
from userturn.config.recipes import check_recipe

Line = dict[str, Any]


def trained_folder(results: str | Path, model: str) -> str:
    """Return the folder of a trained model, as a line's `source` names it."""
    path = f"{results}/training/{model}/model"
    return path if Path(path).is_absolute() else f"./{path}"


def chain(lines: Mapping[str, Any], model: str) -> list[str]:
    """Return a model and what it was trained from, down to one that was not trained here.

    Raises:
        ConfigError: a base that is not a model, or that is trained from this very one.
    """
    names = [model]
    while isinstance(line := lines[names[-1]], Mapping) and "recipe" in line:
        base = line["base"]
        if base not in lines:
            near = near_miss(base, lines)
            raise ConfigError(f"models.{names[-1]}.base: '{base}' is not a model{near}")
        if base in names:
            raise ConfigError(f"models.{model}.base: '{base}' is trained from itself; name another")
        names.append(base)
    return names


def described(config: Config) -> list[str]:
    """Return the models of a run and those that they were trained from, sorted."""
    lines = config["models"]
    return sorted({name for model in selected(config, "models") for name in chain(lines, model)})


def complete_lines(config: Config, results: str | Path) -> dict[str, Line]:
    """Return every model's complete line; a trained one has from its base what it does not say."""
    lines = config["models"]
    return {name: _complete(config, results, chain(lines, name)) for name in sorted(lines)}


def _complete(config: Config, results: str | Path, names: list[str]) -> Line:
    root = config["models"][names[-1]]
    line: Line = config["model_defaults"] | ({"source": root} if isinstance(root, str) else root)
    for before, name in reversed(list(zip(names[1:], names[:-1], strict=True))):
        inherited = {"family": family(before), "size": before} | line
        inherited.pop("training", None)
        own = {"source": trained_folder(results, name), "revision": "main"}
        line = inherited | own | config["models"][name]
    return line


def training_line(line: Mapping[str, Any]) -> Line:
    """Return what a trained model's training asks of a cluster: its `training`, else its line."""
    one_process = {"gpus": min(1, int(line["gpus"])), "nodes": 1}
    return dict(line) | one_process | dict(line.get("training", {}))


def check_trained(config: Config) -> None:
    """Refuse trained models whose base or recipe cannot be.

    Raises:
        ConfigError: what is wrong with the first of them.
    """
    for name, line in sorted(config["models"].items()):
        chain(config["models"], name)
        if isinstance(line, Mapping) and "recipe" in line:
            if "source" in line:
                raise ConfigError(
                    f"models.{name}: found both `source` and `recipe`; a model that a recipe "
                    "trains has no source of its own, take one out"
                )
            check_recipe(line["recipe"], config)
