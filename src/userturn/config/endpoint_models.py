"""Models with an `endpoint`, which somebody else serves, so that no weights are loaded here."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.entries import Config, selected
from userturn.config.formats import check_chat_model, is_chat
from userturn.config.job_resources import schemas_for
from userturn.config.keys import Prices
from userturn.config.model_keys import ModelEntry
from userturn.errors import ConfigError

SERVER = "server"  # in an identity, instead of the engine that loads the model
ASKING = ("api", "served_as", "key_variable", "price", "concurrency", "timeout", "attempts")
TRAINING = ("base", "recipe", "training")
# What an entry may say of a job or of an engine here; a server has its own.
OF_THE_ENGINE = ("dtype", "vllm", *(key for key in schemas_for("sweep") if key != "shards"))
NO_JOB: Mapping[str, int] = {"gpus": 0, "nodes": 1}


def has_endpoint(entry: Mapping[str, Any]) -> bool:
    """Return whether a model is served at an endpoint."""
    return "endpoint" in entry


def engine_name(config: Config, entry: Mapping[str, Any]) -> str:
    """Return the name of the engine or server that runs a model, as in the model's identity."""
    return SERVER if has_endpoint(entry) else str(config["engine"])


def served_as(entry: ModelEntry) -> str:
    """Return the name of a model on its server."""
    return entry.get("served_as", entry["source"])


def account_name(model: str) -> str:
    """Return the name of a model's account, which cannot be a judge's name."""
    return f"model={model}"


def model_prices(models: Mapping[str, ModelEntry]) -> dict[str, Prices]:
    """Return the prices of the models that have one, by the names of their accounts."""
    return {account_name(name): e["price"] for name, e in models.items() if "price" in e}


def check_endpoint_models(config: Config) -> None:
    """Raise ConfigError for faults of entries with an endpoint, and for their keys in others."""
    models = {name: e for name, e in config["models"].items() if isinstance(e, Mapping)}
    asked = [name for name in selected(config, "models") if has_endpoint(models.get(name, {}))]
    if asked and config["determinism"] == "exact":
        raise ConfigError(
            f"determinism: found 'exact', which no server promises, and '{asked[0]}' has an "
            "`endpoint`; set it to best_effort, or leave the model out of run.models"
        )
    for name, entry in models.items():
        where = f"models.{name}"
        base = models.get(entry.get("base", ""), {})
        if has_endpoint(base):
            raise ConfigError(
                f"{where}.base: '{entry['base']}' has an `endpoint`, so that there are no weights "
                "to train; name a model that is loaded here"
            )
        if has_endpoint(entry):
            _check(where, entry)
        elif misplaced := [key for key in ASKING if key in entry]:
            raise ConfigError(
                f"{where}: found `{misplaced[0]}` without `endpoint`; add the server's address, or "
                f"remove `{misplaced[0]}`"
            )


def _check(where: str, entry: Mapping[str, Any]) -> None:
    check_address(f"{where}.endpoint", entry["endpoint"])
    check_key_variable(where, entry)
    for key in (*TRAINING, *OF_THE_ENGINE):
        if key in entry:
            raise ConfigError(
                f"{where}: found `{key}` beside `endpoint`; a model that somebody else serves is "
                f"neither loaded nor trained here: remove `{key}`, or `endpoint`"
            )
    if is_chat(entry):
        check_chat_model(where, entry)
    if Path(entry["source"], "adapter_config.json").is_file():
        raise ConfigError(
            f"{where}.source: '{entry['source']}' is an adapter; expected, beside `endpoint`, a "
            "source with tokenizer and chat template: name the base model, and the adapter's name "
            "on the server in `served_as`"
        )


ADDRESS = re.compile(r"https?://([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?(/[\w./~%+-]*)?", re.ASCII)
PORTS = range(1, 65536)
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


def check_address(where: str, url: str) -> None:
    """Check that an API's address is only scheme, host, port and path, or raise ConfigError."""
    if "@" in url:
        raise ConfigError(f"{where}: contains a user name; expected https://host/v1")
    if "?" in url:
        raise ConfigError(
            f"{where}: contains a query; expected https://host/v1, for Azure "
            "https://RESOURCE.openai.azure.com/openai/v1, which needs no api-version"
        )
    parts = ADDRESS.fullmatch(url)
    if parts is None or int((parts[2] or ":1")[1:]) not in PORTS:
        raise ConfigError(
            f"{where}: found {url!r}; expected a host and at most a port and a path, written out, "
            "as http://host:8000/v1"
        )
    if url.rstrip("/").endswith("/completions"):
        raise ConfigError(f"{where}: found '{url}'; expected it only up to /v1, as https://host/v1")


def check_key_variable(where: str, entry: Mapping[str, Any]) -> None:
    """Check that `key_variable` is a variable's name, else raise ConfigError without showing it."""
    if not VARIABLE.fullmatch(entry.get("key_variable", "NAME")):
        raise ConfigError(
            f"{where}.key_variable: expected the NAME of an environment variable, such as "
            "OPENAI_API_KEY; if it is a key, remove it from the config and revoke it"
        )
