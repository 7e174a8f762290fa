"""What a sweep needs of its model, read once: files, template, identity, engine settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from userturn.models.engine_settings import engine_settings
from userturn.models.fetch import model_folder
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template
from userturn.study.grid import Grid
from userturn.study.model_description import request_identity


@dataclass(frozen=True)
class LoadedModel:
    """A model whose tokenizer is loaded; its engine is loaded when the first request needs it.

    Attributes:
        name: in the config.
        max_model_len: tokens that prompt and continuation may have together.
        folder: of its files.
        template: renders its prompts and turns token ids into text.
        identity: what of the model and its engine enters the identity of a request.
        engine_settings: what its engine is loaded with.
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
        grid: of the study.
        model: name in the config.
        description: of the model, as `read_description` returns it.
    """
    entry = grid.models[model]
    folder = model_folder(entry["source"], description["revision"])  # the noted commit, no branch
    template = load_template(folder, entry, grid.config["today"])
    return LoadedModel(
        model,
        entry["max_model_len"],
        folder,
        template,
        request_identity(grid, model, description),
        engine_settings(grid.config, entry) | {"reads_text": template.has_stop_texts},
    )
