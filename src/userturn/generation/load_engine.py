"""The engine of a study's model: loaded here, or a server that somebody else runs.

`results/served/<model>/<shard>.json` has what a server says of itself, what it was found to
promise, how likely it finds a few fixed prompts, and its greedy completions of them. Another
address of the same server changes nothing; another model behind the same name is noticed before
anything is asked of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from pathlib import Path
from typing import Any

from userturn.config.endpoint_models import account_name, has_endpoint, served_as
from userturn.config.formats import is_chat
from userturn.config.judge_keys import ServerEntry
from userturn.config.model_keys import ModelEntry
from userturn.endpoints.api_keys import read_key
from userturn.endpoints.budget import Account
from userturn.endpoints.rate_limit import Pace
from userturn.errors import UserError
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
from userturn.models.server_check import ServerCheck
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template
from userturn.storage.files import read_json, write_json
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.study.judge import judge_prices
from userturn.study.model_description import (
    longest_text,
    recorded_runners,
    request_identity,
    runners_in_words,
)

# The same model in another precision finds the tokens of a text up to 0.06 nats likelier or less
# likely, on average (docs/decisions.md).
MOST_APART = 0.1
TOLD = 0.01  # nats below which a difference may come from batches and hardware
# Least share of equal greedy completions, for a server that gives no likelihoods.
SAME = 0.5


def server_records(grid: Grid, model: str) -> Iterator[dict[str, Any]]:
    """Yield the record of a model's server that each shard of its sweep wrote, in their order."""
    for path in sorted((grid.results / "served" / model).glob("[!.]*.json")):
        yield read_json(path)


def note_server(
    grid: Grid,
    model: str,
    shard: str,
    identity: Mapping[str, Any],
    longest: int,
    check: ServerCheck,
) -> None:
    """Compare the check of a server with its earlier records, and write its record.

    `longest` is the number of tokens that the server must take, prompt and continuation together.

    Raises:
        UserError: another model is behind the same name, or the server takes shorter prompts than
            the entry says.
    """
    most = str(check.account.get("max_model_len", ""))
    if most.isdigit() and int(most) < longest:
        raise UserError(
            f"model '{model}': its server takes {most} tokens of prompt and continuation, and "
            f"max_model_len is {longest}; set max_model_len of the entry to {most} or less"
        )
    described_as = fingerprint(identity)
    for noted in server_records(grid, model):
        if noted.get("described_as") == described_as:
            _check_same(grid, model, noted, check)
    path = grid.results / "served" / model / f"{shard}.json"
    noted = read_json(path) if path.is_file() else {}
    content = {"described_as": described_as, **check.to_json()}
    if noted.get("described_as") == described_as:
        content |= _first_fingerprint(noted, check)
    if any(noted.get(key) != value for key, value in content.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(content, path, described_as)


def _first_fingerprint(noted: Mapping[str, Any], check: ServerCheck) -> dict[str, Any]:
    """Return the first fingerprint of a server, so that it cannot drift by small steps.

    If a later sweep found a difference from it, the largest one is beside it.
    """
    n_again = min(_n_equal(noted["greedy"], check.greedy), noted.get("n_again", len(check.greedy)))
    fewer = {"n_again": n_again} if n_again < len(check.greedy) else {}
    apart = max(_apart(noted, check) or 0.0, noted.get("apart", 0.0))
    further = {"apart": round(apart, 2)} if apart >= TOLD else {}
    first = {"greedy": noted["greedy"], "scored": noted.get("scored") or list(check.scored)}
    return {**first, **fewer, **further}


def _apart(noted: Mapping[str, Any], check: ServerCheck) -> float | None:
    """Return the mean absolute difference of token log-likelihoods in nats, or None if unknown."""
    before, now = noted.get("scored") or (), check.scored
    if not before or len(before) != len(now):
        return None
    return fsum(abs(one - other) for one, other in zip(before, now, strict=True)) / len(now)


def _n_equal(noted: Sequence[str], now: Sequence[str]) -> int:
    return sum(one == other for one, other in zip(noted, now, strict=False))


def _check_same(grid: Grid, model: str, noted: Mapping[str, Any], check: ServerCheck) -> None:
    apart, n_equal = _apart(noted, check), _n_equal(noted["greedy"], check.greedy)
    if apart is None:
        is_other = n_equal < SAME * max(len(noted["greedy"]), len(check.greedy))
        why = f"{n_equal} of {len(check.greedy)} greedy completions of fixed prompts are equal"
    else:
        is_other = apart > MOST_APART
        why = (
            f"the log-likelihoods of fixed texts are {apart:.2f} nats a token apart, expected "
            f"{MOST_APART} at most"
        )
    if is_other:
        raise UserError(
            f"model '{model}': the server at '{grid.models[model]['endpoint']}' has another model "
            f"than before behind the same name: {why}; ask the server that the study began with, "
            "or give this model an entry of its own"
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
