"""A study's knowledge of a model: its description, its engines, and whether it could be loaded."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from userturn.config.endpoint_models import engine_name, has_endpoint, served_as
from userturn.config.formats import is_played, model_of
from userturn.config.model_keys import identifying_vllm
from userturn.config.trained_models import chain
from userturn.models.engine_setup import Setup, engine_settings
from userturn.models.fetch import (
    check_access,
    check_source,
    folder_at_hand,
    is_local,
    pinned_revision,
)
from userturn.models.setup_refusals import check_setup
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import user
from userturn.storage.files import read_identity
from userturn.study.grid import Grid

# Keys of `engine_settings` that are no settings of vLLM or no choices of the user.
NO_OPTIONS = ("exact", "nnodes", "tensor_parallel_size")


def model_setup(grid: Grid, model: str, folder: Path, is_fetched: bool = False) -> Setup:
    """Return the setup of a model of a study, whose files are in a folder.

    `is_fetched` says whether the weights of a hub model must have been downloaded.
    """
    entry = grid.entries[model]
    settings = engine_settings(grid.config, entry)
    options = {name: value for name, value in settings.items() if name not in NO_OPTIONS}
    return Setup(
        f"model '{model}'",
        None if has_endpoint(entry) else grid.config["engine"],
        folder,
        max_model_len=entry["max_model_len"],
        is_length_asked=_is_length_asked(grid, model),
        writes=_writes(grid, model),
        gpus=entry["gpus"],
        nodes=entry["nodes"],
        gpu_model=entry.get("gpu_model"),
        dtype=entry["dtype"],
        is_exact=settings["exact"],
        trusts=entry["trust_remote_code"],
        options=options,
        has_weights=is_fetched or is_local(entry["source"]),
    )


def _is_length_asked(grid: Grid, model: str) -> bool:
    entries = grid.config["models"]
    own = [entries[name] for name in chain(entries, model_of(model))]
    return any(isinstance(entry, Mapping) and "max_model_len" in entry for entry in own)


def _writes(grid: Grid, model: str) -> dict[str, int]:
    """Return the most tokens of an answer and a user turn, empty for a base that is not asked."""
    if model not in grid.models:
        return {}
    turn = grid.config["user_turn"]["max_tokens"]
    return {"an answer": grid.answer_settings(model)["max_tokens"], "a user turn": turn}


def add_shortest_prompt(setup: Setup, template: Template) -> Setup:
    """Return a setup with the number of tokens in the shortest prompt of a template."""
    return replace(setup, prompt_tokens=len(template.answer_prompt([user("?")]).token_ids))


def look_at_model(grid: Grid, model: str, asks_hub: bool = True) -> None:
    """Refuse a model that its engine would refuse, as far as its local files tell.

    A model that is trained here is checked when it is described. `asks_hub` says whether the hub is
    asked about a model that has no local files.

    Raises:
        UserError: the first reason.
    """
    entry = grid.entries[model]
    if "recipe" in entry:
        return
    check_source(entry["source"])
    pins = [grid.results / "revisions" / f"{model_of(model)}.json"]
    revision = pinned_revision(pins, entry["source"], entry["revision"])
    folder = folder_at_hand(entry["source"], revision)
    if folder is not None:
        check_setup(model_setup(grid, model, folder))
    elif asks_hub and not is_local(entry["source"]):
        check_access(entry["source"], revision)


Runners = Mapping[str, list[str]]  # models by the runner that wrote texts of theirs


def recorded_runners(results: Path) -> Runners:
    """Return the models of each vLLM runner, such as V2, from the records of sweeps."""
    models_by_runner: dict[str, set[str]] = {}
    for path in sorted((results / "provenance").glob("sweep*/*/[!.]*.json")):
        for account in _engines(path):
            if "runner" in account:
                models_by_runner.setdefault(str(account["runner"]), set()).add(path.parent.name)
    return {runner: sorted(models) for runner, models in sorted(models_by_runner.items())}


def _engines(path: Path) -> list[dict[str, Any]]:
    """Return the engines in a record, or none if it is damaged, which the audit reports."""
    try:
        engines = json.loads(path.read_bytes())["made"].get("engines", [])
        return [account for account in engines if isinstance(account, dict)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def runners_in_words(runners: Runners) -> str:
    """Return the runners and their models in words, as in `V1: a, b; V2: c`."""
    return "; ".join(f"{runner}: {', '.join(models)}" for runner, models in runners.items())


def read_description(grid: Grid, model: str) -> dict[str, Any]:
    """Return the description of a model."""
    text = Path(grid.results, "models", f"{model}.json").read_text()
    description: dict[str, Any] = json.loads(text)
    return description


def present_description(grid: Grid, model: str) -> dict[str, Any]:
    """Return the description of a model as it is now, under its present or earlier name.

    Raises:
        LookupError: the model has not been described yet.
    """
    identity = grid.model_fingerprint(model)
    for name in (model, grid.places.model_name(model)):
        path = grid.results / "models" / f"{name}.json"
        if path.is_file() and read_identity(path) == identity:
            return read_description(grid, name)
    raise LookupError(f"no description of {model} as it is now")


def last_description(grid: Grid, model: str) -> dict[str, Any]:
    """Return the description of a model, even if its settings have changed, or an empty one."""
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

    It is the entry's number, but no more than the model's own. Only the entry's counts if an
    earlier version wrote the description, which then lacks the model's own.
    """
    most: int = grid.models[model]["max_model_len"]
    return min(most, description.get("longest_text") or most)
