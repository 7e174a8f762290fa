"""`userturn try`: one question, one model: prompt, checks, answer and user turns."""

import argparse
import os
from typing import Any

from userturn.config.entries import Config
from userturn.config.errors import ConfigError, near_miss
from userturn.config.load import load_config
from userturn.generation.quick_look import QuickLook, look
from userturn.models.fetch import local_path

KEY = "OPENAI_API_KEY"  # sent to a server if it is set
HELP = "ask one model one question and see what it says next as the user"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument(
        "model", help="a name of the configuration, a hub id, a model folder or a GGUF file"
    )
    command.add_argument("question")
    command.add_argument("--answer", help="text to show as the model's own answer")
    command.add_argument("--server", metavar="URL", help="server with the model, including /v1")
    command.add_argument("--served-as", metavar="NAME", help="the model's name on the server")
    command.add_argument("--configfile", nargs="+", default=[], metavar="FILE")


def run(arguments: argparse.Namespace) -> str:
    """Run the command."""
    config, name = with_model(load_config(["config.yaml", *arguments.configfile]), arguments.model)
    engine = None
    if arguments.server:
        from userturn.models.server import load_server

        engine = load_server(arguments.server, arguments.served_as, os.environ.get(KEY, "none"))
    return format_look(look(config, name, arguments.question, arguments.answer, engine))


def with_model(config: Config, model: str) -> tuple[dict[str, Any], str]:
    """Return a configuration that runs one model alone, and its name there.

    Args:
        config: the merged configuration.
        model: a name in it, or a source from which to make an entry.

    Raises:
        ConfigError: it is neither.
    """
    known = model in config["models"]
    if not known and "/" not in model and local_path(model) is None:
        raise ConfigError(
            f"'{model}' is neither a hub id such as org/name, nor a folder, a GGUF file or a model "
            f"of the configuration{near_miss(model, config['models'])}"
        )
    name = model if known else "model"
    entry = config["models"][model] if known else {"source": model}
    models = dict(config["models"]) | {name: entry}
    return dict(config) | {"models": models, "run": dict(config["run"]) | {"models": [name]}}, name


def format_look(seen: QuickLook) -> str:
    """Return a quick look as text, with the chat template's own text between ⟦ and ⟧."""
    known = seen.description
    marked = [f"⟦{text}⟧" if i % 2 == 0 and text else text for i, text in enumerate(seen.prompt)]
    turns = [
        f"user turn at temperature {temperature:g} "
        f"({record['outcome']}, {len(record['token_ids'])} tokens, {record['finish_reason']}):\n"
        f"{record['text'].strip() or '(empty)'}"
        for temperature, record in seen.turns
    ]
    return "\n\n".join(
        [
            f"model: {known['source']}" + (f" at {known['revision']}" if known["revision"] else ""),
            f"what ends a user turn: {', '.join([*known['stop'], *known['stop_texts']])}",
            "proven:\n" + "\n".join(f"- {proof}" for proof in known["proofs"]),
            f"prompt, the chat template's own text in ⟦⟧:\n{''.join(marked)}",
            f"answer:\n{seen.answer}",
            *turns,
        ]
    )
