"""A model as a sweep uses it, read once: files, template, identity and engine settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from userturn.config.endpoint_models import has_endpoint
from userturn.models.engine_settings import engine_settings
from userturn.models.fetch import model_folder
from userturn.models.weights import check_weights
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template
from userturn.study.grid import Grid
from userturn.study.model_description import longest_text, request_identity


@dataclass(frozen=True)
class LoadedModel:
    """A model whose tokenizer is loaded; its engine is loaded when the first request needs it.

    Attributes:
        name: its name in the config.
        max_model_len: the largest number of tokens in prompt and continuation together.
        folder: the folder of its files.
        template: renders its prompts and turns token ids into text.
        identity: the part of model and engine that enters the identity of a request.
        engine_settings: settings that its engine is loaded with.
    """

    name: str
    max_model_len: int
    folder: Path
    template: Template
    identity: Mapping[str, Any]
    engine_settings: Mapping[str, Any]


def load_model(grid: Grid, model: str, description: Mapping[str, Any]) -> LoadedModel:
    """Load a model's tokenizer and template.

    Args:
        grid: the study's grid.
        model: its name in the config.
        description: its description, as `read_description` returns it.
    """
    entry = grid.models[model]
    check_weights(model, entry["source"], description.get("weights_sha256", {}))
    revision = description["revision"]  # a commit, not a branch
    folder = model_folder(entry["source"], revision, with_weights=not has_endpoint(entry))
    template = load_template(folder, entry, grid.config["today"], description)
    longest = {"max_model_len": longest_text(grid, model, description)}
    return LoadedModel(
        model,
        longest["max_model_len"],
        folder,
        template,
        request_identity(grid, model, description),
        engine_settings(grid.config, entry) | longest | {"reads_text": template.has_stop_texts},
    )
