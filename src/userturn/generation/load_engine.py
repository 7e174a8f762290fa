"""The engine of a study's model: loaded here, or a server that somebody else runs."""

from functools import partial

from userturn.config.chat_models import is_chat
from userturn.config.endpoint_models import account_name, has_endpoint, served_as
from userturn.config.judge_keys import ServerEntry
from userturn.config.model_keys import ModelEntry
from userturn.endpoints.api_keys import read_key
from userturn.endpoints.budget import Account
from userturn.endpoints.rate_limit import Pace
from userturn.generation.loaded_model import LoadedModel
from userturn.generation.server_record import note_server
from userturn.judges.batch_notes import cost_of_abandoned
from userturn.logs import say
from userturn.models.chat_completions import ChatCompletions, ChatModel
from userturn.models.completion import Engine
from userturn.models.completion_endpoint import CompletionEndpoint
from userturn.models.engine import load_engine
from userturn.models.engine_account import noted_engines
from userturn.models.served import ServedModel
from userturn.study.engine_records import in_words, recorded_runners
from userturn.study.grid import Grid
from userturn.study.judge import judge_prices


def engine_of(grid: Grid, model: LoadedModel, shard: str) -> Engine:
    """Return the engine of a model of a study, for one shard of its items.

    Raises:
        UserError: the model cannot be loaded, or the key of its server is missing.
    """
    entry = grid.models[model.name]
    if not has_endpoint(entry):
        engine = load_engine(grid.config["engine"], model.folder, model.engine_settings)
        _warn_of_runners(grid, model.name)
        return engine
    longest = 0 if is_chat(entry) else model.max_model_len  # tokens that a server must take
    return (ChatModel if is_chat(entry) else ServedModel)(
        model.name,
        model.template,
        open_server(model.name, entry),
        _account(grid, model.name, entry),
        partial(note_server, grid, model.name, shard, model.identity, longest),
    )


def _warn_of_runners(grid: Grid, model: str) -> None:
    """Say it if vLLM's runner of a model is another than that of the study's earlier texts."""
    now = {account["runner"] for account in noted_engines() if "runner" in account}
    before = recorded_runners(grid.results)
    if now and before.keys() - now:
        say(
            f"WARNING: vLLM's model runner {', '.join(sorted(now))} writes the texts of '{model}', "
            f"and other texts of this study are of another ({in_words(before)}): the two draw "
            "different tokens with equal seeds; VLLM_USE_V2_MODEL_RUNNER=0 in the environment "
            "takes V1 (docs/engines.md)"
        )


def open_server(name: str, entry: ModelEntry) -> CompletionEndpoint:
    """Return the server of a model, not yet open.

    Raises:
        UserError: its key is missing.
    """
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


def _account(grid: Grid, model: str, entry: ModelEntry) -> Account:
    prices, journals = judge_prices(grid), grid.results / "journal" / "judges"
    return Account(
        grid.accounts_folder,
        account_name(model),
        f"sweeps/{model}",
        entry.get("price"),
        grid.config["max_cost"],
        prices,
        partial(cost_of_abandoned, journals, prices),
    )
