"""Read `results/models/<model>.json`, and derive the identity of a model's requests from it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.endpoint_models import engine_name, has_endpoint, served_as
from userturn.config.own_vllm import identifying_vllm
from userturn.config.probes import is_played
from userturn.storage.atomic_files import read_identity
from userturn.study.grid import Grid


def read_description(grid: Grid, model: str) -> dict[str, Any]:
    """Return the description of a model."""
    text = Path(grid.results, "models", f"{model}.json").read_text()
    description: dict[str, Any] = json.loads(text)
    return description


def present_description(grid: Grid, model: str) -> dict[str, Any]:
    """Return the description of a model as it is now, also under the name that it had before.

    Raises:
        LookupError: it has not been described yet.
    """
    wanted = grid.model_fingerprint(model)
    for name in (model, grid.places.of_model(model)):
        path = grid.results / "models" / f"{name}.json"
        if path.is_file() and read_identity(path) == wanted:
            return read_description(grid, name)
    raise LookupError(f"no description of {model} as it is now")


def last_description(grid: Grid, model: str) -> dict[str, Any]:
    """Return the description of a model, of whatever settings; an empty one if there is none."""
    is_there = (grid.results / "models" / f"{model}.json").is_file()
    return read_description(grid, model) if is_there else {}


def request_identity(grid: Grid, model: str, description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a described model and its engine that enters its requests' identity."""
    entry = grid.models[model]
    shapes = {"served_as": served_as(entry)} if has_endpoint(entry) else {"dtype": entry["dtype"]}
    settings = {**shapes, "engine": engine_name(grid.config, entry)}
    return dict(description["identity"] | settings | identifying_vllm(entry))


def turn_ends(description: Mapping[str, Any], role: str) -> dict[str, Any]:
    """Return the stops and the beginning of a turn of `assistant` or `user`, for `Sampling`."""
    if role == "assistant":
        tokens, texts, begins_with = "end_of_answer_token_ids", "end_of_answer_texts", ""
    else:
        tokens, texts = "stop_token_ids", "stop_texts"
        begins_with = description.get("left_to_the_model", "")
    return {
        "stop_token_ids": tuple(description[tokens]),
        "stop_texts": tuple(description.get(texts, ())),
        "begins_with": begins_with,
        "is_played": role == "user" and is_played(description),
    }


def longest_text(grid: Grid, model: str, description: Mapping[str, Any]) -> int:
    """Return the largest number of tokens in prompt and continuation together.

    It is what the entry says, and no more than the model's own. A description of an earlier
    version does not have that: there the entry counts alone.
    """
    most: int = grid.models[model]["max_model_len"]
    return min(most, description.get("longest_text") or most)
