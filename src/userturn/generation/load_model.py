"""The engine of a study's model: loaded here, or a server that somebody else runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from userturn.config.endpoint_models import account_name, has_endpoint, served_as
from userturn.config.formats import is_chat
from userturn.config.judge_keys import ServerEntry
from userturn.config.model_keys import ModelEntry
from userturn.endpoints.api_keys import read_key
from userturn.endpoints.budget import Account
from userturn.endpoints.concurrency import Pace
from userturn.generation.server_records import note_server
from userturn.logs import say
from userturn.models.chat_completions import ChatCompletions, ChatModel
from userturn.models.completion_endpoint import CompletionEndpoint
from userturn.models.engine import load_engine
from userturn.models.engine_account import noted_engines
from userturn.models.engine_setup import engine_settings
from userturn.models.fetch import model_folder
from userturn.models.model_files import check_weights_unchanged
from userturn.models.requests import Engine
from userturn.models.scratch import copy_on_scratch
from userturn.models.served import ServedModel
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template
from userturn.study.grid import Grid
from userturn.study.judge import judge_prices
from userturn.study.model_description import (
    longest_text,
    recorded_runners,
    request_identity,
    runners_in_words,
)


@dataclass(frozen=True)
class LoadedModel:
    """A model with its tokenizer loaded, whose engine is loaded when the first request needs it.

    Attributes:
        max_model_len: the largest number of tokens in prompt and continuation together.
        identity: what of model and engine enters the keys of requests (`request_identity`).
    """

    name: str
    max_model_len: int
    folder: Path
    template: Template
    identity: Mapping[str, Any]
    engine_settings: Mapping[str, Any]


def load_model(grid: Grid, model: str, description: Mapping[str, Any]) -> LoadedModel:
    """Return a model by its description (`read_description`), or raise UserError."""
    entry = grid.models[model]
    check_weights_unchanged(model, entry["source"], description.get("weights_sha256", {}))
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


def engine_of(grid: Grid, model: LoadedModel, shard: str) -> Engine:
    """Return the engine of a model of a study, for one shard of its items, or raise UserError."""
    entry = grid.models[model.name]
    if not has_endpoint(entry):
        folder = copy_on_scratch(model.folder) if entry.get("local_weights") else model.folder
        engine = load_engine(grid.config["engine"], folder, model.engine_settings)
        _warn_of_runners(grid, model.name)
        return engine
    name = model.name
    longest = 0 if is_chat(entry) else model.max_model_len  # tokens that a server must take
    price, cap, prices = entry.get("price"), grid.config["max_cost"], judge_prices(grid)
    return (ChatModel if is_chat(entry) else ServedModel)(
        name,
        model.template,
        open_server(name, entry),
        Account(grid.accounts_folder, account_name(name), f"sweeps/{name}", price, cap, prices),
        partial(note_server, grid, name, shard, model.identity, longest),
    )


def _warn_of_runners(grid: Grid, model: str) -> None:
    """Warn if vLLM's model runner is not the one that wrote the study's earlier texts."""
    now = {account["runner"] for account in noted_engines() if "runner" in account}
    before = recorded_runners(grid.results)
    if now and before.keys() - now:
        say(
            f"WARNING: vLLM's model runner {', '.join(sorted(now))} writes the texts of '{model}', "
            f"and other texts of this study are of another ({runners_in_words(before)}): the two "
            "draw different tokens with equal seeds; VLLM_USE_V2_MODEL_RUNNER=0 in the environment "
            "takes V1 (docs/engines.md)"
        )


def open_server(name: str, entry: ModelEntry) -> CompletionEndpoint:
    """Return the server of a model, not yet open, or raise UserError if its API key is missing."""
    settings: ServerEntry = {
        "model": served_as(entry),
        "concurrency": entry["concurrency"],
        "timeout": entry["timeout"],
        "attempts": entry["attempts"],
    }
    key = read_key(name, entry, "model")
    return (ChatCompletions if is_chat(entry) else CompletionEndpoint)(
        entry["endpoint"].rstrip("/"), settings, key, Pace(entry["concurrency"])
    )
