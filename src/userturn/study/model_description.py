"""What `results/models/<model>.json` says of a model, and what identifies its requests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.study.grid import Grid


def read_description(grid: Grid, model: str) -> dict[str, Any]:
    """Return what is known of a model."""
    text = Path(grid.results, "models", f"{model}.json").read_text()
    description: dict[str, Any] = json.loads(text)
    return description


def request_identity(grid: Grid, model: str, description: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a model, as described, and its engine enters the identity of its requests."""
    settings = {"dtype": grid.models[model]["dtype"], "engine": grid.config["engine"]}
    return dict(description["identity"] | settings)


def turn_ends(description: Mapping[str, Any], role: str) -> dict[str, Any]:
    """Return what ends a turn of `assistant` or `user`, and how it begins, as `Sampling` has it."""
    if role == "assistant":
        tokens, texts, begins_with = "end_of_answer_token_ids", "end_of_answer_texts", ""
    else:
        tokens, texts = "stop_token_ids", "stop_texts"
        begins_with = description.get("left_to_the_model", "")
    return {
        "stop_token_ids": tuple(description[tokens]),
        "stop_texts": tuple(description.get(texts, ())),
        "begins_with": begins_with,
    }
