"""The setup of a study's model: what its engine is to load, with the settings of its entry."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from userturn.config.endpoint_models import has_endpoint
from userturn.config.formats import model_of
from userturn.config.trained_models import chain
from userturn.models.engine_settings import engine_settings
from userturn.models.engine_setup import Setup
from userturn.models.fetch import check_access, check_source, folder_at_hand, is_local
from userturn.models.revision import pinned_revision
from userturn.models.setup_refusals import check_setup
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import user
from userturn.study.grid import Grid

# Of what `engine_settings` returns, what is no setting of vLLM or no choice of the user.
NO_OPTIONS = ("exact", "nnodes", "tensor_parallel_size")


def model_setup(grid: Grid, model: str, folder: Path, is_fetched: bool = False) -> Setup:
    """Return the setup of a model of a study.

    Args:
        grid: of the study.
        model: its name in the config.
        folder: of its files.
        is_fetched: whether the weights of a hub model must be there, too.
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
    """Return the most tokens of an answer and of a user turn; a base that is not asked has none."""
    if model not in grid.models:
        return {}
    turn = grid.config["user_turn"]["max_tokens"]
    return {"an answer": grid.answer_settings(model)["max_tokens"], "a user turn": turn}


def with_prompts(setup: Setup, template: Template) -> Setup:
    """Return a setup that knows how long the shortest prompt of a template is."""
    return replace(setup, prompt_tokens=len(template.answer_prompt([user("?")]).token_ids))


def look_at_model(grid: Grid, model: str, asks_hub: bool = True) -> None:
    """Refuse a model that its engine would refuse, as far as its files are here.

    One that is trained here is looked at when it is described.

    Args:
        grid: of the study.
        model: its name in the config.
        asks_hub: whether the hub is asked for a model that is not here.

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
