"""What tells one training from another: its recipe, data, base, judges and the code's version."""

from collections.abc import Mapping
from typing import Any

from userturn.config.recipes import PROMPTS, TRAINING_VERSION, Recipe, endpoints_of
from userturn.storage.hashing import file_sha256, fingerprint

# These keys say where a model runs and what it is asked; they do not affect what is learnt.
NOT_LEARNT = frozenset(("engine", "max_model_len"))
# Says how results are to be read; files count by their contents.
DECLARED = frozenset(("trained_on", "trains_on_the_metric", "data"))


def data_identity(recipe: Recipe) -> list[dict[str, Any]]:
    """Return the identity of a recipe's files: their content, or hub path and revision."""
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
    """Return the identity of a training: recipe, data, base and version of the code.

    Args:
        recipe: the parsed recipe, so that its comments do not count.
        base: identity of the base and its template.
        judges: identity of each judge that it asks, by name.
        version: of the code.
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
