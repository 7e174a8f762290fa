"""Family, size and bases of a model, and trainings that are repeated with other seeds.

`seeds: 3` gives three models, which share a row in tables by recipe. The first has the entry's name
and the recipe's seed, the third has the name `name-seed3` and that seed plus two. If the base of a
model is repeated, too, each training starts from the base of the same number.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from userturn.config.entries import Config
from userturn.config.formats import format_of, model_of, name_in_format
from userturn.config.model_keys import MOST_SEEDS, ModelEntry
from userturn.config.recipes import Recipe
from userturn.errors import ConfigError

FAMILY = re.compile(r"(.+?)-\d")
SIZE = re.compile(r"(?:^|-)(\d+(?:\.\d+)?)([bm])(?:-a(\d+(?:\.\d+)?)b)?(?=-|$)")
IN_BILLIONS = {"b": 1.0, "m": 0.001}
Pair = tuple[str, str]  # a post-trained model and one of its bases
Trainings = Mapping[Pair, Sequence[Pair]]
"""The pairs of all trainings of a recipe with their bases, by the pair of the first training."""


class FamilyMember(NamedTuple):
    """A model of a family, with its sizes in billions of parameters, None if unknown."""

    model: str
    family: str
    size: float | None
    active_size: float | None


def family(name: str) -> str:
    """Return the part of a name before the first `-` and digit: qwen3.5 of qwen3.5-35b-a3b."""
    match = FAMILY.match(name)
    return match[1] if match else name


def size(name: str) -> tuple[float, float] | tuple[None, None]:
    """Return the total and active billions of parameters that a name states (0.8b or 35b-a3b).

    Both are equal if every parameter is used for every token, and None if the name has no size.
    """
    match = SIZE.search(name)
    if match is None:
        return None, None
    total = float(match[1]) * IN_BILLIONS[match[2]]
    return total, float(match[3]) if match[3] else total


def families(models: Mapping[str, ModelEntry]) -> list[FamilyMember]:
    """Return the families' members in the order of family, size (unknown ones last) and name.

    An entry's keys `family` and `size` take precedence over the model's name. Models in another
    format than the default have a family of their own, `family+format`.
    """
    members = []
    for name, entry in models.items():
        model = model_of(name)
        of = name_in_format(entry.get("family", family(model)), format_of(name))
        members.append(FamilyMember(name, of, *size(str(entry.get("size", model)))))
    return sorted(members, key=lambda m: (m.family, m.size is None, m.size or 0, m.model))


def baselines(
    models: Mapping[str, ModelEntry], entries: Mapping[str, ModelEntry]
) -> list[tuple[str, str]]:
    """Return pairs of a post-trained model of the grid and one of its bases, the nearest first.

    A model trained from a trained model is paired with that model and with the base of both.
    `entries` has all models of the configuration, `models` those of the grid.
    """
    pairs = []
    for name in sorted(models):
        before = name
        while "base" in entries[before] and entries[before]["base"] in entries:
            before = str(entries[before]["base"])
            if before in models:
                pairs.append((name, before))
    return pairs


def numbered(name: str, number: int) -> str:
    """Return the name of the model that a training makes, from the training's number from 1."""
    return name if number == 1 else f"{name}-seed{number}"


def n_seeds(entry: Any) -> int:
    """Return the number of trainings of an entry, which need not be valid."""
    seeds = entry.get("seeds") if isinstance(entry, Mapping) else None
    return min(seeds, MOST_SEEDS) if isinstance(seeds, int) else 1


def repeat_trainings(config: Mapping[str, Any]) -> None:
    """Add an entry per further training to a configuration and its run, in place.

    The configuration need not be valid yet.
    """
    models, run = config.get("models"), config.get("run")
    if not isinstance(models, dict):
        return
    chosen = run.get("models") if isinstance(run, Mapping) else None
    for name, entry in list(models.items()):
        for number in range(2, n_seeds(entry) + 1):
            other = numbered(name, number)
            models.setdefault(other, _repetition(entry, number, models))
            if isinstance(chosen, list) and name in chosen and other not in chosen:
                chosen.append(other)


def _repetition(entry: Mapping[str, Any], number: int, models: Mapping[str, Any]) -> dict[str, Any]:
    again = {key: value for key, value in entry.items() if key != "seeds"} | {"repetition": number}
    base = entry.get("base")
    if isinstance(base, str) and n_seeds(models.get(base)) >= number:
        again["base"] = numbered(base, number)
    return again


def check_repeated(config: Config) -> None:
    """Check recipe, base and names of each entry with `seeds`, or raise ConfigError."""
    models = config["models"]
    for name, entry in sorted(models.items()):
        if not isinstance(entry, Mapping) or "seeds" not in entry:
            continue
        n, of_base = n_seeds(entry), n_seeds(models.get(entry.get("base")))
        if "recipe" not in entry:
            raise ConfigError(
                f"models.{name}: found `seeds` without `recipe`; only a model that a recipe trains "
                "here is trained with several, remove it"
            )
        if 1 < of_base < n:
            raise ConfigError(
                f"models.{name}.seeds: found {n}, but its base '{entry['base']}' has {of_base}; "
                "give both as many"
            )
        for number in range(2, n + 1):
            other = numbered(name, number)
            if models[other] != _repetition(entry, number, models):
                raise ConfigError(
                    f"models.{other}: `seeds: {n}` of '{name}' makes a model of this name; give "
                    "yours another"
                )


def trained_alike(name: str, entry: ModelEntry) -> str:
    """Return the name of the first model whose training differs from this one's only in seed."""
    first = model_of(name)
    if "repetition" in entry:
        first = first.removesuffix(numbered("", entry["repetition"]))
    return name_in_format(first, format_of(name))


def seeded_recipe(recipe: Recipe, entry: ModelEntry) -> Recipe:
    """Return a recipe with the seed of an entry's repetition: the third has the seed plus two."""
    if "repetition" not in entry:
        return recipe
    how = recipe["optimisation"]
    seed = how["seed"] + entry["repetition"] - 1
    return {**recipe, "optimisation": {**how, "seed": seed}}


def trainings(
    models: Mapping[str, ModelEntry], entries: Mapping[str, ModelEntry]
) -> dict[Pair, list[Pair]]:
    """Return the pairs of `baselines`, grouped so that repetitions of a training are together.

    The key of a group is its first pair: the first training and its base.
    """
    by_pair: dict[Pair, list[Pair]] = {}
    for name, base in baselines(models, entries):
        first = trained_alike(name, entries[name]), trained_alike(base, entries[base])
        by_pair.setdefault(first, []).append((name, base))
    return by_pair
