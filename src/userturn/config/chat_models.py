"""Models behind a chat API (`api: chat`): they are sent messages, and play the user.

Nothing is known of their tokenizer and template. A stand-in of ours has a token for each byte and a
token before and after each message, so that prompts are written, planned, hashed and proven like
those of any model, and taken apart into messages when they are sent.
"""

from collections.abc import Mapping
from typing import Any

from userturn.config.errors import ConfigError
from userturn.config.probes import RAW, ROLE_PLAY

CHAT = "chat"
STAND_IN = "./data/chat_api"  # tokenizer and template of messages
LONGEST_CHAT = 10_000_000  # bytes of a prompt and its reply: the server says what is too long
# What an entry says of prompts or tokens that the server alone writes.
OF_THE_SERVER = (
    "revision",
    "user_header",
    "header",
    "stop",
    "merge_system_message",
    "trust_remote_code",
    "chat_template",
    "enable_thinking",
    "template_options",
    "max_model_len",
)


def is_chat(entry: Mapping[str, Any]) -> bool:
    """Tell whether a model is asked by a chat API."""
    return entry.get("api") == CHAT


def as_chat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a model behind a chat API, with the stand-in as its source.

    Its own `source` is its name on the server, unless `served_as` says another.
    """
    named = {"served_as": entry["source"], "probe": ROLE_PLAY, **entry}
    return {**named, "source": STAND_IN, "revision": "main", "max_model_len": LONGEST_CHAT}


def check_chat_model(where: str, entry: Mapping[str, Any]) -> None:
    """Check that the entry of a model behind a chat API asks nothing of it that it cannot do.

    Raises:
        ConfigError: it does.
    """
    if found := [key for key in OF_THE_SERVER if key in entry]:
        raise ConfigError(
            f"{where}: found `{found[0]}` beside `api: {CHAT}`; a chat API takes messages, and its "
            f"server alone knows tokens and template: remove `{found[0]}`, or `api`"
        )
    check_chat_probe(where, entry)


def check_chat_probe(where: str, entry: Mapping[str, Any]) -> None:
    """Check that a model behind a chat API is not asked for the raw probe.

    Raises:
        ConfigError: it is.
    """
    if entry.get("probe") == RAW:
        raise ConfigError(
            f"{where}: found `probe: {RAW}` for a model with `api: {CHAT}`; a chat API has no user "
            f"header to write under, so such a model can only play the user: set {ROLE_PLAY}, or "
            "leave the model out"
        )
