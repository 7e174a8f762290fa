"""`userturn try`: one question, one model: prompt, checks, answer and user turns."""

import argparse
import os
from collections.abc import Mapping
from typing import Any

from userturn.cli.arguments import (
    config_anywhere,
    select_model,
    take_configfile,
    take_server,
)
from userturn.cli.busy_line import engine_log
from userturn.cli.terminal import Output
from userturn.config.endpoint_models import check_address
from userturn.config.formats import CHAT, ROLE_PLAY
from userturn.generation.quick_look import QuickLook, look
from userturn.judges.verdict import Verdict
from userturn.models.server_models import KEY

HELP = "ask one model one question and see what it says next as the user"
EXAMPLES = (
    'try my-model "How tall is a giraffe?"',
    'try org/name "How tall is a giraffe?" --answer "About five metres."',
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument(
        "model", help="a name of the configuration, a hub id, a model folder or a GGUF file"
    )
    command.add_argument("question", help="question to the model")
    command.add_argument("--answer", help="text to show as the model's own answer")
    take_server(command)
    command.add_argument(
        "--instruction",
        metavar="FILE",
        help="text that tells a model behind a chat API to play the user",
    )
    command.add_argument(
        "--chat-template",
        metavar="FILE",
        help="chat template in place of the model's own, such as data/templates/transcript.jinja "
        "for a base model",
    )
    take_configfile(command)


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    config = config_anywhere(arguments.configfile)
    if arguments.api == CHAT and arguments.model not in config["models"]:
        named = {arguments.model: {"source": arguments.model}}
        config = {**config, "models": {**config["models"], **named}}
    config, name = select_model(config, arguments.model)
    if arguments.instruction:
        played = {"probe": ROLE_PLAY, "instruction": arguments.instruction}
        config["models"][name] = whole_entry(config["models"][name]) | played
    if arguments.chat_template:
        own = whole_entry(config["models"][name])
        config["models"][name] = own | {"chat_template": arguments.chat_template}
    if arguments.server:
        config["models"][name] = add_server(config["models"][name], arguments)
    with engine_log("try", f"{arguments.model}: asking it your question"):
        seen = look(config, name, arguments.question, arguments.answer)
    return Output([format_look(seen)], vars(seen))


def whole_entry(entry: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's entry as a mapping. An entry that is a text is its `source`."""
    return {"source": entry} if isinstance(entry, str) else dict(entry)


def add_server(entry: str | Mapping[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return a model's entry with the server that the command's arguments name."""
    named = {"served_as": arguments.served_as} if arguments.served_as else {}
    keyed = {"key_variable": KEY} if KEY in os.environ else {}
    spoken = {"api": CHAT} if arguments.api == CHAT else {}
    asked = {"endpoint": arguments.server, "attempts": 1} | spoken | named | keyed
    check_address("--server", arguments.server)
    return whole_entry(entry) | asked


def format_verdict(verdict: Verdict | None) -> str:
    """Return the heuristic judge's label and reason in words, or an empty text without any."""
    if verdict is None:
        return ""
    called = verdict.label or f"not labelled, {verdict.unscored_reason}"
    why = f", {verdict.rationale}" if verdict.rationale else ""
    return f"; the heuristic judge: {called}{why}"


def format_look(seen: QuickLook) -> str:
    """Return a quick look as text, with the chat template's own text between ⟦ and ⟧."""
    model = seen.description
    ends = [*model["stop"], *map(repr, model["stop_texts"])]
    marked = [f"⟦{text}⟧" if i % 2 == 0 and text else text for i, text in enumerate(seen.prompt)]
    turns = [
        f"user turn at temperature {temperature:g} "
        f"({record['outcome']}, {record['finish_reason']}{format_verdict(verdict)}):\n"
        f"{record['text'].strip() or '(empty)'}"
        for (temperature, record), verdict in zip(seen.turns, seen.verdicts, strict=True)
    ]
    return "\n\n".join(
        [
            f"model: {model['source']}" + (f" at {model['revision']}" if model["revision"] else ""),
            f"user header: {model['header']}; thinking: {model['thinking']}",
            f"what ends a user turn: {', '.join(ends)}",
            "proven:\n" + "\n".join(f"- {proof}" for proof in model["proofs"]),
            f"prompt, the chat template's own text in ⟦⟧:\n{''.join(marked)}",
            f"answer:\n{seen.answer}",
            *turns,
        ]
    )
