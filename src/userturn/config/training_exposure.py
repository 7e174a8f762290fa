"""The datasets that a model has seen in training, according to its recipes."""

from collections.abc import Iterator, Mapping

from userturn.config.model_keys import ModelEntry
from userturn.config.recipes import Recipe

Entries = Mapping[str, ModelEntry]
Recipes = Mapping[str, Recipe]


def recipes_of(entries: Entries, recipes: Recipes, model: str) -> Iterator[Recipe]:
    """Yield the recipes that made a model: its own, and those of its bases."""
    while "recipe" in entries[model]:
        yield recipes[model]
        model = entries[model]["base"]


def trained_on(entries: Entries, recipes: Recipes, model: str) -> set[str]:
    """Return the datasets that the recipes of a model declare."""
    return {name for recipe in recipes_of(entries, recipes, model) for name in recipe["trained_on"]}


def trains_on_the_metric(entries: Entries, recipes: Recipes, model: str) -> bool:
    """Return whether a reward of a model was the verdict that the study reports."""
    return any(
        recipe.get("trains_on_the_metric", False) for recipe in recipes_of(entries, recipes, model)
    )


def learns_user_turns(entries: Entries, recipes: Recipes, model: str) -> bool:
    """Return whether a recipe of a model teaches it user turns, which the study then probes."""
    return any(
        "user" in recipe.get("sft", {}).get("loss_on", ())
        or recipe.get("grpo", {}).get("turn") == "user"
        for recipe in recipes_of(entries, recipes, model)
    )
